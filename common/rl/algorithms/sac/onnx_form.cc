#include <utility>

#include "common/onnx/choices_graph.h"
#include "common/rl/algorithms/mixed_soft_actor_critic/mixed.h"
#include "common/rl/algorithms/policy_forms.h"

namespace waggle {
namespace {

// A choice beside real actions: the actor's mode, and the choice that the least critic's values beside it favour.
absl::StatusOr<PolicyDecision> Decide(const SacOptions& /*options*/, PolicyGraph* policy) {
  OnnxGraph& graph = policy->graph();
  NetworkGraph& actor = policy->net("actor");
  NetworkGraph& critic = policy->net("critic");
  NetworkGraph::Output output = actor.Call(policy->InputsOf(actor));
  const PolicyValues values = output.policy("policy");
  NetworkInputs inputs = policy->InputsOf(critic);
  inputs.extra = {*values.reals};
  NetworkGraph::Output critics = critic.Call(std::move(inputs));
  const OnnxValue q = graph.Reduce("ReduceMin", critics.vector(kChoiceValues), 0);
  const std::vector<int64_t>& num_values = policy->action().num_values;
  std::optional<OnnxValue> legal;
  if (critics.mask().has_value()) {
    legal = LegalChoices(&graph, *critics.mask(), num_values);
  }
  PolicyDecision decision;
  decision.reals = values.reals;
  decision.choices = BestChoices(&graph, LogProbabilities(&graph, q, num_values, legal), num_values);
  decision.more = {{"mean", *values.mean}, {"stddev", *values.stddev}, {"q", q}};
  return decision;
}

}  // namespace

PolicyForm sac_form() {
  return FormOf<SacOptions>(&Decide);
}

}  // namespace waggle
