#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "actor/environments/episodic_environment.h"
#include "common/config/spec/environment_spec.h"

namespace waggle {

// An environment of any spaces in which nothing happens, to measure the system around it: Null-v1. Every step shows the
// same observation, which follows from the seed. Masks allow every choice. Rewards are 0. Its episodes are truncated
// after spec.max_episode_steps, and a step costs a copy of the observation.
class NullEnvironment : public EpisodicEnvironment {
 public:
  // For the registry. Its spec is `environment.spec`, and it has no options.
  static EnvironmentDefinition Definition();

  // Element types of boxes are those of LeafOptions.
  NullEnvironment(EnvironmentSpec spec, uint64_t seed);

 private:
  void Start(absl::Span<void* const> observations) override;
  bool Advance(absl::Span<const void* const> actions, absl::Span<void* const> observations, float* rewards) override;

  const int64_t num_rewards_;
  std::vector<std::vector<char>> shown_;  // By leaf.
};

}  // namespace waggle
