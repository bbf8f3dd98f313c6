#pragma once

#include <string>

#include "common/rl/algorithms/ppo/ppo.h"
#include "common/rl/kit/batches.h"
#include "common/rl/kit/entropy_bonus.h"
#include "common/rl/kit/model.h"
#include "common/rl/kit/return_scale.h"
#include "common/rl/kit/unroll_steps.h"
#include "common/rl/kit/update_context.h"

namespace waggle {

// PPO's update (arXiv 1707.06347): passes over unrolls of the acting policy, in minibatches. It is the policy phase of
// PPG too, and the update of each agent of IPPO and MAPPO.
class PolicyPhase {
 public:
  // The model must be of a plan by PpoPlan, whose network has policy and value.
  PolicyPhase(const PpoOptions& options, Model* model) : PolicyPhase(options, "actor_critic", "actor_critic", model) {}
  // The model must have a network with a policy and the same or another one with the value; unrolls have the leaves of
  // both. Two networks have no cores, and are descended one after the other.
  PolicyPhase(const PpoOptions& options, const std::string& policy, const std::string& value, Model* model);

  // Learns from the unrolls. Returns their steps, [T, rows], or [1, T * rows] if the network has no core, with a column
  // "value_target".
  UnrollSteps Run(const Unrolls& unrolls, UpdateContext* context);

  const ReturnScale& return_scale() const { return scale_; }

  void VisitState(StateVisitor* visitor) {
    scale_.VisitState(visitor);
    entropy_.VisitState(visitor);
  }

 private:
  UnrollSteps Prepare(const Unrolls& u, UpdateContext* context);
  bool Learn(const UnrollSteps& s, UpdateContext* context);
  torch::Tensor ValueLoss(const torch::Tensor& estimates, const UnrollSteps& s) const;

  const PpoOptions options_;
  Net& net_;
  Net& value_net_;  // May be the same.
  EntropyBonus entropy_;
  ReturnScale scale_;
};

}  // namespace waggle
