#include <cmath>
#include <utility>
#include <vector>

#include "common/onnx/choices_graph.h"
#include "common/rl/algorithms/iqn/iqn.h"
#include "common/rl/algorithms/policy_forms.h"

namespace waggle {
namespace {

// The best mean of values at evenly spaced fractions.
absl::StatusOr<PolicyDecision> Decide(const IqnOptions& options, PolicyGraph* policy) {
  std::vector<float> waves;  // [samples, embedding].
  for (int64_t sample = 0; sample < options.acting_samples; ++sample) {
    const float fraction = (static_cast<float>(sample) + 0.5F) / static_cast<float>(options.acting_samples);
    for (int64_t i = 0; i < options.embedding; ++i) {
      waves.push_back(std::cos(fraction * (static_cast<float>(i) * static_cast<float>(M_PI))));
    }
  }
  OnnxGraph& graph = policy->graph();
  NetworkGraph& q = policy->net("q");
  NetworkInputs inputs = policy->InputsOf(q);
  inputs.extra = {graph.Floats(waves, {options.acting_samples, options.embedding})};
  NetworkGraph::Output output = q.Call(std::move(inputs));
  const OnnxValue samples = output.vector("q");
  const int64_t choices = samples.shape.back();
  OnnxValue values = graph.Reduce("ReduceMean", graph.Reshape(samples, {kRows, options.acting_samples, choices}), 1);
  if (output.mask().has_value()) {
    const OnnxValue legal = LegalChoices(&graph, *output.mask(), {choices});
    values = graph.Where(legal, values, graph.Float(kIllegalValue));
  }
  PolicyDecision decision;
  decision.choices = BestChoices(&graph, values, {choices});
  decision.more = {{"q", values}};
  return decision;
}

}  // namespace

PolicyForm iqn_form() {
  return FormOf<IqnOptions>(&Decide);
}

}  // namespace waggle
