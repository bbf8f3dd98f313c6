#include "common/onnx/agents_form.h"
#include "common/rl/algorithms/policy_forms.h"
#include "common/rl/algorithms/qmix/qmix.h"

namespace waggle {
namespace {

absl::StatusOr<PolicyDecision> Decide(const QmixOptions& options, PolicyGraph* policy) {
  return DecideByAgents(policy, "q", options.share);
}

}  // namespace

PolicyForm qmix_form() {
  return FormOf<QmixOptions>(&Decide);
}

}  // namespace waggle
