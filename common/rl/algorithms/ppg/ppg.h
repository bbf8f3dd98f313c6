#pragma once

#include <cstdint>

#include "common/rl/algorithms/ppo/ppo.h"

namespace waggle {

// Phasic policy gradient (Cobbe et al. 2020, arXiv 2009.04416): several policy phases, which are learner steps of PPO,
// and then an auxiliary phase on all their unrolls. It distils the value into the policy's layers, through a second
// value head on them, and keeps the policy.
struct PpgOptions : public PpoOptions {
  int64_t policy_phases = 8;     // Learner steps to an auxiliary phase.
  int64_t auxiliary_epochs = 6;  // Passes of an auxiliary phase.
  double clone_weight = 1;       // Weight of a nat of divergence from the policy before the phase, beside the values.

  PpgOptions();

  void Visit(ConfigVisitor& visitor) override;
};

// The second value head, which shares the policy's layers. Nothing acts or computes advantages by it.
inline constexpr char kAuxiliaryValue[] = "value_auxiliary";

}  // namespace waggle
