#pragma once

#include <string>

#include "common/rl/algorithms/quantile_actor_critic/definition.h"

namespace waggle {

// Soft actor-critic whose critics learn quantiles of returns (Wurman et al. 2022, "Outracing champion Gran Turismo
// drivers with deep reinforcement learning").
struct QrSacOptions : public QuantileActorCriticOptions {
  // The target's quantiles: those of the critic of the least mean (critic), or the least of each (quantile).
  std::string least = "critic";

  void Visit(ConfigVisitor& visitor) override;
};

}  // namespace waggle
