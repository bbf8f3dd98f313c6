#pragma once

#include <cstdint>

#include "common/rl/algorithms/soft_actor_critic/definition.h"

namespace waggle {

// The options of soft actor-critics whose critics learn quantiles of returns.
struct QuantileActorCriticOptions : public SoftActorCriticOptions {
  int64_t critics = 2;
  int64_t quantiles = 32;  // Each critic's.

  void Visit(ConfigVisitor& visitor) override;
};

// Their plan: that of SoftActorCriticPlan with a tanh-normal actor.
AlgorithmPlan QuantileActorCriticPlan(const QuantileActorCriticOptions& options, const PlanContext& context);

}  // namespace waggle
