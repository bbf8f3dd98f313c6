#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/config/experiment/algorithm_definition.h"
#include "common/config/experiment/experiment.h"
#include "common/config/plan/entropy_options.h"
#include "common/config/plan/optimizer_options.h"

namespace waggle {

// Options of algorithms whose policy follows its advantages in unrolls of the newest weights.
struct ActorCriticOptions : public AlgorithmOptions {
  int64_t unroll = 64;     // Steps of each lane in a learner step.
  double discount = 0.99;  // Per step.
  double lambda = 0.95;    // lambda of generalised advantages (arXiv 1506.02438): 0 trusts values, 1 rewards.
  double value_weight = 0.5;
  int64_t value_replicas = 1;            // Estimates of a value side by side. Their mean is the value; each learns.
  bool normalize_returns = true;         // Scales rewards so that returns have a deviation of 1.
  bool normalize_advantages = true;      // Scales them to mean 0 and variance 1 within an optimizer step.
  std::optional<double> advantage_clip;  // Then limits them to at most this size; absent: no limit.
  EntropyOptions entropy;
  OptimizerOptions optimizer;

  ActorCriticOptions();

  void Visit(ConfigVisitor& visitor) override;
  absl::Status Validate() const override { return absl::OkStatus(); }
};

// Their plan: a network "actor_critic" with a policy of the action's kind and a value; a scalar for a learned entropy
// weight; no exploration, because the policy is random; and a queue of unrolls whose rows have `columns` of the
// network. If `actors_wait`, all lanes act an unroll in step by one version of the weights and wait for the next.
// INVALID_ARGUMENT, behind its key, if the replay section is not a queue.
absl::StatusOr<AlgorithmPlan> ActorCriticPlan(const ActorCriticOptions& options, const PlanContext& context,
                                              const std::vector<ArraySpec>& columns, bool actors_wait);

// A network with a policy and a value that share nothing, each of dense layers of these widths. Initialised as in "The
// 37 implementation details of PPO" (Huang et al., 2022): orthogonal, and with a nearly uniform policy.
NetworkSpec ActorCriticNetwork(std::vector<int64_t> units);

// OnPolicyDefaults for actors that wait for each learner step: nothing is learned from older weights' actions.
void ActorCriticDefaults(Experiment* experiment);

}  // namespace waggle
