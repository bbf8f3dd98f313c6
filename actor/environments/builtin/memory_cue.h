#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "actor/environments/episodic_environment.h"
#include "common/base/random.h"
#include "common/config/config_visitor.h"
#include "common/config/spec/environment_spec.h"

namespace waggle {

// `environment.options` of MemoryCue-v0.
struct MemoryCueSettings {
  int64_t length = 10;  // Steps of an episode.
  int64_t cues = 2;     // There are as many actions.

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const { return absl::OkStatus(); }
};

// The first observation of an episode shows a cue, and the last action must be its number: MemoryCue-v0, after the
// memory length experiment of bsuite (arXiv 1908.03568). The last step's reward is 1 if it is, else -1, and the episode
// terminates. Other actions have no effect, and other rewards are 0. Element 0 of the observation is the share of
// remaining steps. The others are one for each cue: 1 for the episode's cue, in its first observation alone. A policy
// without a memory has a mean return of 2 / cues - 1.
class MemoryCue : public EpisodicEnvironment {
 public:
  using Settings = MemoryCueSettings;

  static EnvironmentSpec Spec(const Settings& settings = Settings());

  MemoryCue(const Settings& settings, uint64_t seed);

  absl::StatusOr<Picture> Draw() const override;

 private:
  // The cue is uniform.
  void Start(absl::Span<void* const> observations) override;
  bool Advance(absl::Span<const void* const> actions, absl::Span<void* const> observations, float* rewards) override;
  // Writes the observation after `steps` steps of the episode.
  void Show(int64_t steps, void* observation);

  const int64_t length_;
  Rng rng_;
  std::vector<float> shown_;
  size_t cue_ = 0;
};

}  // namespace waggle
