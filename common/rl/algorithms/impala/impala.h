#pragma once

#include "absl/status/status.h"
#include "common/rl/algorithms/actor_critic/definition.h"

namespace waggle {

// IMPALA (Espeholt et al. 2018, arXiv 1802.01561): actors write unrolls without waiting for the learner, which corrects
// by V-trace for the difference of its policy from the acting one.
struct ImpalaOptions : public ActorCriticOptions {
  // Limit of the ratio that weighs a step's own error. 1: values are of a policy between the two.
  double rho_clip = 1;
  double c_clip = 1;  // Limit of the ratio that weighs later steps; at most rho_clip.

  ImpalaOptions();

  void Visit(ConfigVisitor& visitor) override;
  absl::Status Validate() const override;
};

}  // namespace waggle
