#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "actor/environments/environment.h"
#include "actor/environments/pictures/animation.h"
#include "actor/environments/pictures/video_options.h"

namespace waggle {

// An environment that writes pictures of some of its episodes, FOLDER/episode-N.webp. It behaves like the inner
// environment. A step fails if a file cannot be written. An abandoned episode has a file, too. One thread.
class FilmedEnvironment final : public Environment {
 public:
  // `begun`: the number of episodes begun, shared by all copies.
  FilmedEnvironment(std::unique_ptr<Environment> environment, VideoOptions options,
                    std::shared_ptr<std::atomic<int64_t>> begun);
  ~FilmedEnvironment() override;

  const EnvironmentSpec& spec() const override { return environment_->spec(); }
  absl::Status Reset(absl::Span<void* const> observations) override;
  absl::StatusOr<StepOutcome> Step(absl::Span<const void* const> actions, absl::Span<void* const> observations,
                                   float* rewards) override;
  absl::StatusOr<Picture> Draw() const override { return environment_->Draw(); }

 private:
  absl::Status AddPicture();
  absl::Status Write();

  const std::unique_ptr<Environment> environment_;
  const VideoOptions options_;
  const std::shared_ptr<std::atomic<int64_t>> begun_;
  std::unique_ptr<Animation> animation_;  // The film of the episode under way; null: it is not filmed.
  int64_t pictures_ = 0;                  // In the animation.
  int64_t episode_ = 0;                   // Its number.
};

// A definition whose copies film the first options.episodes of all their episodes.
EnvironmentDefinition Filmed(EnvironmentDefinition definition, const VideoOptions& options);

// Makes the folder. INVALID_ARGUMENT unless files can be written to it.
absl::Status PrepareVideoFolder(const std::string& folder);

}  // namespace waggle
