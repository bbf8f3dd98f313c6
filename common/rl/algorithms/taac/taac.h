#pragma once

#include <cstdint>

#include "common/rl/algorithms/soft_actor_critic/definition.h"

namespace waggle {

// Temporally abstract actor-critic (Yu et al. 2021, arXiv 2104.06521): the actor proposes an action, and then a switch,
// which follows from the critics, takes it or repeats the action before. Learns from sequences: rewards are summed
// while an action is repeated, up to n_step of them.
struct TaacOptions : public SoftActorCriticOptions {
  // The column of the action before, which the policy may repeat.
  static constexpr char kRepeatedAction[] = "repeated_action";

  int64_t critics = 2;  // The least of them counts.
  // Worth of a nat of the switch's entropy; the initial one if temperatures are learned.
  double switch_temperature = 1;
  double switch_target_entropy = 0.3;  // In nats; a switch that is as likely as not has 0.69.

  TaacOptions();

  void Visit(ConfigVisitor& visitor) override;
};

}  // namespace waggle
