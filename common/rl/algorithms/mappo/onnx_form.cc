#include "common/onnx/agents_form.h"
#include "common/rl/algorithms/mappo/mappo.h"
#include "common/rl/algorithms/policy_forms.h"

namespace waggle {
namespace {

absl::StatusOr<PolicyDecision> Decide(const MappoOptions& options, PolicyGraph* policy) {
  return DecideByAgents(policy, "actor", options.share);
}

}  // namespace

PolicyForm mappo_form() {
  return FormOf<MappoOptions>(&Decide);
}

}  // namespace waggle
