#pragma once

#include <memory>
#include <utility>

#include "common/rl/algorithms/mixed_soft_actor_critic/mixed.h"
#include "common/rl/algorithms/sac/soft_policy.h"
#include "common/rl/kit/algorithm_policy.h"
#include "common/rl/kit/model.h"

namespace waggle {

// The equations of a choice beside real actions. The model, of a MixedPlan of these options, must outlive it.
std::unique_ptr<SoftPolicy> NewMixedPolicy(const SacOptions& options, Model* model);

// Acts by them. Greedy: tanh of the mean, and the best choice beside it.
class MixedActingPolicy : public AlgorithmPolicy {
 public:
  MixedActingPolicy(const SacOptions& options, ActingNets nets) : options_(options), nets_(std::move(nets)) {}

  Acted Act(const ActingRows& rows) override;

 private:
  const SacOptions options_;
  const ActingNets nets_;
};

}  // namespace waggle
