#include <utility>
#include <vector>

#include "common/onnx/choices_graph.h"
#include "common/rl/algorithms/mdq/mdq.h"
#include "common/rl/algorithms/policy_forms.h"

namespace waggle {
namespace {

// One element after the other, each given those before: the network is called for each, with the same torso.
absl::StatusOr<PolicyDecision> Decide(const MdqOptions& options, PolicyGraph* policy) {
  OnnxGraph& graph = policy->graph();
  NetworkGraph& actor = policy->net("actor");
  const int64_t elements = policy->action().num_reals;
  const NetworkInputs inputs = policy->InputsOf(actor);
  std::vector<float> none(static_cast<size_t>(elements), 0);
  std::vector<OnnxValue> chosen, logits;
  const double width = 2.0 / static_cast<double>(options.bins - 1);
  for (int64_t i = 0; i < elements; ++i) {
    // The chosen elements, zeros for the others, and which one is next.
    std::vector<float> next = none;
    next[static_cast<size_t>(i)] = 1;
    OnnxValue prefix;
    if (i == 0) {
      std::vector<float> first = none;
      first.insert(first.end(), next.begin(), next.end());
      prefix = graph.Floats(first, {1, 2 * elements});
    } else {
      std::vector<OnnxValue> parts = chosen;
      std::vector<float> rest(static_cast<size_t>(elements - i), 0);
      rest.insert(rest.end(), next.begin(), next.end());
      OnnxValue same = graph.ExpandedLike(graph.Floats(rest, {1, 2 * elements - i}), chosen[0]);
      same.shape = {kRows, 2 * elements - i};
      parts.push_back(same);
      prefix = graph.Concat(parts, 1);
    }
    NetworkInputs own = inputs;
    own.extra = {prefix};
    const OnnxValue log_probabilities =
        LogProbabilities(&graph, actor.Call(std::move(own)).vector("logits"), {options.bins}, {});
    const OnnxValue bin = graph.Cast(graph.ArgMax(log_probabilities, /*keep=*/true), DType::kFloat32);
    chosen.push_back(graph.Sub(graph.Mul(bin, graph.Float(width)), graph.Float(1)));
    logits.push_back(log_probabilities);
  }
  PolicyDecision decision;
  decision.reals = graph.Concat(chosen, 1);
  decision.more = {{"logits", graph.Concat(logits, 1)}};
  return decision;
}

}  // namespace

PolicyForm mdq_form() {
  return FormOf<MdqOptions>(&Decide);
}

}  // namespace waggle
