#include "common/onnx/agents_form.h"
#include "common/rl/algorithms/ippo/ippo.h"
#include "common/rl/algorithms/policy_forms.h"

namespace waggle {
namespace {

absl::StatusOr<PolicyDecision> Decide(const IppoOptions& options, PolicyGraph* policy) {
  return DecideByAgents(policy, "actor_critic", options.share);
}

}  // namespace

PolicyForm ippo_form() {
  return FormOf<IppoOptions>(&Decide);
}

}  // namespace waggle
