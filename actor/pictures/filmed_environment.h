#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "actor/environments/environment.h"
#include "actor/pictures/animation.h"
#include "actor/pictures/video_options.h"

namespace waggle {

// An environment that writes pictures of some of its episodes, FOLDER/episode-N.webp. It is stepped like the one
// inside; a file that cannot be written ends a step with an error. An episode that is given up has a file, too. One
// thread.
class FilmedEnvironment final : public Environment {
 public:
  // `begun`: how many episodes have begun in all copies, which share it.
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
  int64_t pictures_ = 0;                  // In it.
  int64_t episode_ = 0;                   // Its number.
};

// A definition whose copies are filmed, the first options.episodes of all their episodes.
EnvironmentDefinition Filmed(EnvironmentDefinition definition, const VideoOptions& options);

// Makes the folder, and sees that files can be written to it. INVALID_ARGUMENT if not.
absl::Status PrepareVideoFolder(const std::string& folder);

}  // namespace waggle
