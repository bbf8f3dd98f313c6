#pragma once

#include <memory>

#include "common/rl/algorithms/sac/sac.h"
#include "common/rl/algorithms/sac/soft_policy.h"
#include "common/rl/algorithms/soft_actor_critic/temperature.h"
#include "common/rl/kit/algorithm.h"

namespace waggle {

// SAC's update, also of algorithms that only act otherwise (oac).
class Sac : public Algorithm {
 public:
  // The model must be of a SoftActorCriticPlan of these options, and outlive it.
  Sac(const SacOptions& options, Model* model);

  void Update(const Batches& batches, UpdateContext* context) override;

 private:
  const SacOptions options_;
  Net& actor_;
  Net& critic_;
  const Temperature temperature_;
  const std::unique_ptr<SoftPolicy> policy_;
};

}  // namespace waggle
