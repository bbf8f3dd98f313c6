#pragma once

#include "common/experiment/actor_critic_options.h"
#include "common/rl/algorithm.h"
#include "common/rl/entropy_bonus.h"
#include "common/rl/return_scale.h"

namespace waggle {

// The update of an advantage actor-critic (Mnih et al. 2016, arXiv 1602.01783) from unrolls that its own policy acted:
// one step by the policy's, the value's and the entropy's terms.
class ActorCritic : public Algorithm {
 public:
  // The model is of a plan with ActorCriticPlan.
  ActorCritic(const ActorCriticOptions& options, Model* model);

  void Update(const Batches& batches, UpdateContext* context) override;
  void VisitState(StateVisitor* visitor) override { scale_.VisitState(visitor); }

 private:
  const ActorCriticOptions options_;
  Net& net_;
  const EntropyBonus entropy_;
  ReturnScale scale_;
};

}  // namespace waggle
