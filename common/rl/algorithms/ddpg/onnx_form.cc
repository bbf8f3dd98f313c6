#include "common/config/plan/algorithm_plan.h"
#include "common/onnx/choices_graph.h"
#include "common/rl/algorithms/ddpg/ddpg.h"
#include "common/rl/algorithms/hddpg/hddpg.h"
#include "common/rl/algorithms/policy_forms.h"

namespace waggle {
namespace {

// The actor's real action, or its likeliest choice. Critics that act too only give priorities.
absl::StatusOr<PolicyDecision> Decide(PolicyGraph* policy) {
  NetworkGraph& actor = policy->net("actor");
  NetworkGraph::Output output = actor.Call(policy->InputsOf(actor));
  PolicyDecision decision = DecideByHead(&policy->graph(), actor.plan(), actor.plan().heads[0], &output);
  if (decision.choices.has_value()) {
    // By probabilities rather than their logarithms: rounding ties other choices.
    OnnxGraph& graph = policy->graph();
    const OnnxValue probabilities = graph.Unary("Exp", decision.more[0].second);
    decision.choices = BestChoices(&graph, probabilities, actor.plan().action.num_values);
  }
  return decision;
}

absl::StatusOr<PolicyDecision> DecideByDdpg(const DdpgOptions& /*options*/, PolicyGraph* policy) {
  return Decide(policy);
}

absl::StatusOr<PolicyDecision> DecideByHddpg(const HddpgOptions& /*options*/, PolicyGraph* policy) {
  return Decide(policy);
}

}  // namespace

PolicyForm ddpg_form() {
  return FormOf<DdpgOptions>(&DecideByDdpg);
}

PolicyForm hddpg_form() {
  return FormOf<HddpgOptions>(&DecideByHddpg);
}

}  // namespace waggle
