#include "common/onnx/agents_form.h"
#include "common/onnx/choices_graph.h"
#include "common/rl/algorithms/maddpg/maddpg.h"
#include "common/rl/algorithms/policy_forms.h"

namespace waggle {
namespace {

// Greedy, an agent's policies act together: by the mean of their actions, or by the sum of their probabilities.
absl::StatusOr<PolicyDecision> Decide(const MaddpgOptions& options, PolicyGraph* policy) {
  OnnxGraph& graph = policy->graph();
  return DecideByAgents(policy, "actor", options.share, [&graph](NetworkGraph* net, NetworkGraph::Output* output) {
    const PolicyValues values = output->policy(net->plan().heads[0].name);
    PolicyDecision decision;
    if (values.reals.has_value()) {
      decision.reals = graph.Reduce("ReduceMean", *values.reals, 0);
      return decision;
    }
    const std::vector<int64_t>& num_values = net->plan().action.num_values;
    std::optional<OnnxValue> legal;
    if (output->mask().has_value()) {
      legal = LegalChoices(&graph, *output->mask(), num_values);
    }
    const OnnxValue sum = graph.Reduce("ReduceLogSumExp", *values.logits, 0);
    const OnnxValue logits = LogProbabilities(&graph, sum, num_values, legal);
    decision.choices = BestChoices(&graph, logits, num_values);
    decision.more = {{"logits", logits}};
    return decision;
  });
}

}  // namespace

PolicyForm maddpg_form() {
  return FormOf<MaddpgOptions>(&Decide);
}

}  // namespace waggle
