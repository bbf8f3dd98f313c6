#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "actor/environments/environment.h"
#include "common/spec/environment_spec.h"

namespace waggle {

// An environment of any spaces in which nothing happens, to measure what is around it: Null-v1. It shows one
// observation, which follows from its seed, at every step; masks allow everything. Rewards are 0. Its episodes are
// truncated after spec.max_episode_steps, and a step costs a copy of the observation.
class NullEnvironment : public Environment {
 public:
  // For the registry.
  static EnvironmentDefinition Definition();

  // Element types of boxes are those of LeafOptions.
  NullEnvironment(EnvironmentSpec spec, uint64_t seed);

  const EnvironmentSpec& spec() const override { return spec_; }
  absl::Status Reset(absl::Span<void* const> observations) override;
  absl::StatusOr<StepOutcome> Step(absl::Span<const void* const> actions, absl::Span<void* const> observations,
                                   float* rewards) override;

 private:
  void Show(absl::Span<void* const> observations) const;

  const EnvironmentSpec spec_;
  const int64_t num_rewards_;
  std::vector<std::vector<char>> shown_;  // By leaf.
  int64_t steps_ = 0;
  bool running_ = false;
};

}  // namespace waggle
