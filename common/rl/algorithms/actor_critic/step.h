#pragma once

#include "common/rl/algorithms/actor_critic/definition.h"
#include "common/rl/kit/batches.h"
#include "common/rl/kit/entropy_bonus.h"
#include "common/rl/kit/model.h"
#include "common/rl/kit/return_scale.h"
#include "common/rl/kit/returns/advantages.h"
#include "common/rl/kit/update_context.h"

namespace waggle {

// The advantages as a policy's loss weighs them, [T, rows]: standardised and clipped as the options say.
torch::Tensor PolicyAdvantage(const ActorCriticOptions& options, const torch::Tensor& advantage,
                              const torch::Tensor& counts);

// The mean squared error of estimates [T, rows, replicas] of a value, [T, rows].
inline torch::Tensor SquaredError(const torch::Tensor& estimates, const torch::Tensor& target) {
  return (estimates - target.unsqueeze(-1)).square().mean(-1);
}

// The step of an actor-critic (Mnih et al. 2016, arXiv 1602.01783) by the sum of policy, value and entropy terms. The
// algorithm computes the advantages between Forward and Descend.
class ActorCriticStep {
 public:
  // The model must be of a plan by ActorCriticPlan.
  ActorCriticStep(const ActorCriticOptions& options, Model* model);

  // The network's outputs for unrolls.
  struct Pass {
    torch::Tensor value;      // [T + 1, rows].
    torch::Tensor estimates;  // [T, rows, replicas]: those that a value is the mean of.
    torch::Tensor reward;     // [T, rows]: the unrolls', on the returns' scale if normalised.
    torch::Tensor log_prob;   // [T, rows]: the actions'.
    torch::Tensor entropy;    // The mean over the steps that count.
  };
  Pass Forward(const Unrolls& unrolls, UpdateContext* context);

  void Descend(const Unrolls& unrolls, const Pass& pass, const Advantages& advantages, UpdateContext* context);

  void VisitState(StateVisitor* visitor) {
    scale_.VisitState(visitor);
    entropy_.VisitState(visitor);
  }

 private:
  const ActorCriticOptions options_;
  Net& net_;
  EntropyBonus entropy_;
  ReturnScale scale_;
};

}  // namespace waggle
