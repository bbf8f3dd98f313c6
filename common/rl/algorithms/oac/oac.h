#pragma once

#include "common/rl/algorithms/sac/sac.h"

namespace waggle {

// Optimistic actor-critic (Ciosek et al. 2019, arXiv 1910.12807): SAC whose actors explore where an upper bound of the
// critics is larger. Evaluations act as SAC's.
struct OacOptions : public SacOptions {
  double optimism = 4.66;     // Standard deviations of the critics that the upper bound adds to their mean; beta_UB.
  double divergence = 23.53;  // The exploring policy's KL divergence from the learned one, in nats; delta.

  void Visit(ConfigVisitor& visitor) override;
};

}  // namespace waggle
