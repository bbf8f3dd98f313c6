#pragma once

#include <cstdint>
#include <optional>

#include "common/rl/algorithms/soft_prior/definition.h"

namespace waggle {

// Soft actor-critic (Haarnoja et al. 2018, arXiv 1812.05905): a random policy that is paid for its entropy, learned
// from any policy's transitions. Single choices use exact expectations (Christodoulou 2019, arXiv 1910.07207), also
// beside real actions (mixed_soft_actor_critic).
struct SacOptions : public PriorSoftActorCriticOptions {
  // Default target for choices, as a share of a uniform choice's entropy. The paper's 0.98 is too high: policies give
  // up some entropy to prolong an episode. In CartPole-v1 the temperature then passes 10,000, above which rewards do
  // not count.
  static constexpr double kShareOfUniformEntropy = 0.5;

  int64_t critics = 2;  // The least of them counts.
  // If a network has a core: learned steps of a sequence, and steps before them that only warm up memories. A sequence
  // that begins with its episode has none of these.
  int64_t sequence = 20;
  int64_t burn_in = 10;

  // The target, in nats, of the entropy of a choice beside real actions; target_entropy is that of these. Absent: a
  // share of the largest, as for a choice alone.
  std::optional<double> choice_target_entropy;

  void Visit(ConfigVisitor& visitor) override;
};

// The plan of SAC and of algorithms that extend it. INVALID_ARGUMENT, behind its key, for a prior or a target entropy
// of choices that does not fit the actions.
absl::StatusOr<AlgorithmPlan> SacPlan(const SacOptions& options, const PlanContext& context);

}  // namespace waggle
