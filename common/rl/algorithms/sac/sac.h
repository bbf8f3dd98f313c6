#pragma once

#include <cstdint>
#include <optional>

#include "common/experiment/algorithm_definition.h"
#include "common/plan/exploration_options.h"
#include "common/plan/optimizer_options.h"

namespace waggle {

// Soft actor-critic (Haarnoja et al. 2018, arXiv 1812.05905): a random policy that is paid for its entropy, learned
// from transitions of any policy.
struct SacOptions : public AlgorithmOptions {
  int64_t n_step = 1;          // Rewards that are summed before the critics take over; fewer where an episode ends.
  double discount = 0.99;      // A step.
  double update_rate = 0.005;  // The share of the critics that their targets take over after every step of theirs.
  int64_t critics = 2;         // Of which the least counts.

  double temperature = 1;         // What a nat of entropy is worth in rewards; where it is learned, at first.
  bool learn_temperature = true;  // So that the policy's entropy comes to target_entropy.
  // In nats, of an action in [-1, 1]. Absent: minus the number of its elements.
  std::optional<double> target_entropy;

  // Of replay.sampler.kind: prioritized. Importance weights are (items * probability) ^ -importance_exponent over the
  // largest of the batch.
  Schedule importance_exponent = 0;

  ExplorationOptions exploration;
  OptimizerOptions actor_optimizer, critic_optimizer, temperature_optimizer;

  SacOptions();

  void Visit(ConfigVisitor& visitor) override;
  absl::Status Validate() const override { return absl::OkStatus(); }
};

}  // namespace waggle
