#include <utility>

#include "common/rl/algorithms/policy_forms.h"
#include "common/rl/algorithms/taac/taac.h"

namespace waggle {
namespace {

// The actor's proposal, or the action before if the critics think no less of it. That action is the policy's state.
absl::StatusOr<PolicyDecision> Decide(const TaacOptions& /*options*/, PolicyGraph* policy) {
  OnnxGraph& graph = policy->graph();
  const OnnxValue before = policy->State(policy->action().num_reals);
  NetworkGraph& actor = policy->net("actor");
  NetworkGraph& critic = policy->net("critic");
  NetworkInputs inputs = policy->InputsOf(actor);
  inputs.action = before;
  NetworkGraph::Output output = actor.Call(std::move(inputs));
  const PolicyValues values = output.policy("policy");
  const auto value = [&](const OnnxValue& action) {
    NetworkInputs of_critic = policy->InputsOf(critic);
    of_critic.action = action;
    return graph.Reduce("ReduceMin", critic.Call(std::move(of_critic)).value("value"), 0);  // [rows].
  };
  const OnnxValue repeated = value(before);
  const OnnxValue proposed = value(*values.reals);
  const OnnxValue switches = graph.Reshape(graph.Greater(proposed, repeated), {kRows, 1});
  PolicyDecision decision;
  decision.reals = graph.Where(switches, *values.reals, before);
  decision.more = {{"mean", *values.mean},
                   {"stddev", *values.stddev},
                   {"value_of_proposed", proposed},
                   {"value_of_repeated", repeated}};
  policy->SetNextState(*decision.reals);
  return decision;
}

}  // namespace

PolicyForm taac_form() {
  return FormOf<TaacOptions>(&Decide);
}

}  // namespace waggle
