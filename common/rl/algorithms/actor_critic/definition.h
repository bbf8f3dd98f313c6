#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/experiment/algorithm_definition.h"
#include "common/experiment/experiment.h"
#include "common/plan/entropy_options.h"
#include "common/plan/optimizer_options.h"

namespace waggle {

// What algorithms have in common whose policy follows its advantages in unrolls of the newest weights.
struct ActorCriticOptions : public AlgorithmOptions {
  int64_t unroll = 64;     // Steps of each lane that a learner step learns from.
  double discount = 0.99;  // A step.
  double lambda = 0.95;    // Of the generalised advantages (arXiv 1506.02438): 0 trusts the values, 1 the rewards.
  double value_weight = 0.5;
  bool normalize_returns = true;     // Rewards are put on the scale on which returns have a deviation of 1.
  bool normalize_advantages = true;  // To mean 0 and variance 1 over what a step of the optimizer learns from.
  EntropyOptions entropy;
  OptimizerOptions optimizer;

  ActorCriticOptions();

  void Visit(ConfigVisitor& visitor) override;
  absl::Status Validate() const override { return absl::OkStatus(); }
};

// Their plan: one network, "actor_critic", with a policy of the action's kind and a value; a number for the entropy's
// weight where that is learned; no exploration, as the policy is random itself; and a queue of unrolls, in which every
// row has `columns` of the network too. `actors_wait`: all lanes act an unroll by one version of the weights, in step,
// and wait for the next one. INVALID_ARGUMENT, behind its key, where the replay section asks for something else than a
// queue.
absl::StatusOr<AlgorithmPlan> ActorCriticPlan(const ActorCriticOptions& options, const PlanContext& context,
                                              const std::vector<std::string>& columns, bool actors_wait);

// A network with a policy and a value, which share nothing: dense layers of these widths each. Initialised as "The 37
// implementation details of PPO" (Huang et al., 2022) have it: orthogonal, and a policy that begins close to uniform.
NetworkSpec ActorCriticNetwork(std::vector<int64_t> units);

// OnPolicyDefaults for actors that wait for each learner step: nothing is learned from that older weights acted.
void ActorCriticDefaults(Experiment* experiment);

}  // namespace waggle
