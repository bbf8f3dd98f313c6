#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "common/config/config_visitor.h"
#include "common/config/spec/environment_spec.h"
#include "common/rl/algorithms/soft_actor_critic/definition.h"

namespace waggle {

// A fixed density of real actions. Beside it a policy is paid for the divergence from it, with a minus sign, in place
// of the entropy. Shares are of the interval [-1, 1], which is 2 wide.
struct SoftPriorOptions {
  // uniform: on the interval.
  // truncated_normal: a normal density about 0, cut off at -1 and 1.
  // same_action: a mixture of this one and a narrow one about the action before; at an episode's first step the former.
  std::string type = "none";
  double deviation = 1;                  // Share that is the normal's standard deviation.
  double same_action_probability = 0.9;  // Weight of the narrow density.
  double same_action_noise = 0.1;        // Share that is its standard deviation.

  bool is_given() const { return type != "none"; }
  bool needs_action_before() const { return type == "same_action"; }

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const { return absl::OkStatus(); }
};

// The options of a soft actor-critic that may have a prior.
struct PriorSoftActorCriticOptions : public SoftActorCriticOptions {
  SoftPriorOptions prior;
  double target_divergence = 3;  // With a prior, in nats for each real element: a learned temperature moves it there.

  // The learned temperature's target for the entropy, or for minus the divergence, of this many real elements.
  double RealTarget(int64_t elements) const;

  void Visit(ConfigVisitor& visitor) override;
  absl::Status Validate() const override;
};

// INVALID_ARGUMENT, behind its key, if there is a prior and the environment's actions are not all real, or if it needs
// the action before and sequences have no burn-in, whose last step shows it to the first one that is learned from.
absl::Status CheckPrior(const SoftPriorOptions& prior, const EnvironmentSpec& environment, int64_t burn_in);

}  // namespace waggle
