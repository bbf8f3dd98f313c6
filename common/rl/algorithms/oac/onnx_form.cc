#include "common/rl/algorithms/oac/oac.h"
#include "common/rl/algorithms/policy_forms.h"

namespace waggle {
namespace {

// The critics only say where to explore.
absl::StatusOr<PolicyDecision> Decide(const OacOptions& /*options*/, PolicyGraph* policy) {
  NetworkGraph& actor = policy->net("actor");
  NetworkGraph::Output output = actor.Call(policy->InputsOf(actor));
  return DecideByHead(&policy->graph(), actor.plan(), *actor.plan().FindHead("policy"), &output);
}

}  // namespace

PolicyForm oac_form() {
  return FormOf<OacOptions>(&Decide);
}

}  // namespace waggle
