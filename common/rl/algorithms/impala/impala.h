#pragma once

#include "absl/status/status.h"
#include "common/rl/algorithms/actor_critic/definition.h"

namespace waggle {

// IMPALA (Espeholt et al. 2018, arXiv 1802.01561): actors write unrolls and do not wait for the learner, which corrects
// by V-trace for what its policy does otherwise than the one that acted.
struct ImpalaOptions : public ActorCriticOptions {
  double rho_clip = 1;  // Of the ratio by which a step's own error counts. 1: values are of a policy between the two.
  double c_clip = 1;    // Of the ratio by which what follows a step counts; at most rho_clip.

  ImpalaOptions();

  void Visit(ConfigVisitor& visitor) override;
  absl::Status Validate() const override;
};

}  // namespace waggle
