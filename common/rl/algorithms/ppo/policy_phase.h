#pragma once

#include "common/rl/algorithms/ppo/ppo.h"
#include "common/rl/kit/batches.h"
#include "common/rl/kit/entropy_bonus.h"
#include "common/rl/kit/model.h"
#include "common/rl/kit/return_scale.h"
#include "common/rl/kit/unroll_steps.h"
#include "common/rl/kit/update_context.h"

namespace waggle {

// PPO's update (arXiv 1707.06347): passes over unrolls of the acting policy, in minibatches. It is the policy phase of
// PPG too.
class PolicyPhase {
 public:
  // The model must be of a plan by PpoPlan.
  PolicyPhase(const PpoOptions& options, Model* model);

  // Learns from the unrolls. Returns their steps, [T, rows], or [1, T * rows] if the network has no core, with a column
  // "value_target".
  UnrollSteps Run(const Unrolls& unrolls, UpdateContext* context);

  const ReturnScale& return_scale() const { return scale_; }

  void VisitState(StateVisitor* visitor) {
    scale_.VisitState(visitor);
    entropy_.VisitState(visitor);
  }

 private:
  UnrollSteps Prepare(const Unrolls& u);
  bool Learn(const UnrollSteps& s, UpdateContext* context);
  torch::Tensor ValueLoss(const torch::Tensor& estimates, const UnrollSteps& s) const;

  const PpoOptions options_;
  Net& net_;
  EntropyBonus entropy_;
  ReturnScale scale_;
};

}  // namespace waggle
