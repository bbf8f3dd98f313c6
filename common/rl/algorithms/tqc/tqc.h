#pragma once

#include <cstdint>

#include "common/rl/algorithms/quantile_actor_critic/definition.h"

namespace waggle {

// Truncated quantile critics (Kuznetsov et al. 2020, arXiv 2005.04269): soft actor-critic whose critics learn
// quantiles, and whose target leaves out the largest of all critics' quantiles together.
struct TqcOptions : public QuantileActorCriticOptions {
  int64_t dropped = 2;  // Largest quantiles that the target leaves out, for each critic; less than quantiles.

  TqcOptions();

  void Visit(ConfigVisitor& visitor) override;
  absl::Status Validate() const override;
};

}  // namespace waggle
