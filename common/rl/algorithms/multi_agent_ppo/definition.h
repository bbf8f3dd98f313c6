#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "common/rl/algorithms/ppo/ppo.h"

namespace waggle {

// Options of algorithms in which each of several agents learns by PPO from its own steps.
struct MultiAgentPpoOptions : public PpoOptions {
  bool share = false;        // One network for all agents, whose spaces must be equal, instead of one for each.
  bool team_reward = false;  // Each agent's reward is the mean of all agents'.

  void Visit(ConfigVisitor& visitor) override;
};

// Their plan: PpoPlan with networks for each agent, or for all that share, and a column "log_prob" for each. With a
// `central` value the policies are networks "actor", and the values networks "critic" that see all observations;
// otherwise both are heads of "actor_critic". INVALID_ARGUMENT, behind its key, if agents cannot share, and for a rule
// of the entropy's weight that keeps count of one policy.
absl::StatusOr<AlgorithmPlan> MultiAgentPpoPlan(const MultiAgentPpoOptions& options, const PlanContext& context,
                                                bool central);

}  // namespace waggle
