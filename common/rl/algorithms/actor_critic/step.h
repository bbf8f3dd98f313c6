#pragma once

#include "common/rl/algorithms/actor_critic/definition.h"
#include "common/rl/kit/batches.h"
#include "common/rl/kit/entropy_bonus.h"
#include "common/rl/kit/model.h"
#include "common/rl/kit/return_scale.h"
#include "common/rl/kit/returns/advantages.h"
#include "common/rl/kit/update_context.h"

namespace waggle {

// The step of an actor-critic (Mnih et al. 2016, arXiv 1602.01783) by the sum of policy, value and entropy terms. The
// algorithm computes the advantages between Forward and Descend.
class ActorCriticStep {
 public:
  // The model must be of a plan by ActorCriticPlan.
  ActorCriticStep(const ActorCriticOptions& options, Model* model);

  // The network's outputs for unrolls.
  struct Pass {
    torch::Tensor value;     // [T + 1, rows].
    torch::Tensor reward;    // [T, rows]: the unrolls', on the returns' scale if normalised.
    torch::Tensor log_prob;  // [T, rows]: the actions'.
    torch::Tensor entropy;   // The mean over the steps that count.
  };
  Pass Forward(const Unrolls& unrolls);

  void Descend(const Unrolls& unrolls, const Pass& pass, const Advantages& advantages, UpdateContext* context) const;

  void VisitState(StateVisitor* visitor) { scale_.VisitState(visitor); }

 private:
  const ActorCriticOptions options_;
  Net& net_;
  const EntropyBonus entropy_;
  ReturnScale scale_;
};

}  // namespace waggle
