#include "common/onnx/choices_graph.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace waggle {
namespace {

// Applies `compute` to the elements, all at once if they have equal numbers of choices: `value` becomes [..., elements,
// choices], or one element's [..., 1, choices]. The results are joined along the axis of elements.
template <class Compute>
OnnxValue ByElement(OnnxGraph* graph, const OnnxValue& value, const std::vector<int64_t>& num_values,
                    const Compute& compute) {
  const auto elements = static_cast<int64_t>(num_values.size());
  const auto split = [&](const OnnxValue& part, int64_t count, int64_t choices) {
    std::vector<int64_t> shape = part.shape;
    shape.back() = count;
    shape.push_back(choices);
    return graph->Reshape(part, std::move(shape));
  };
  if (std::all_of(num_values.begin(), num_values.end(), [&](int64_t n) { return n == num_values[0]; })) {
    return compute(split(value, elements, num_values[0]));
  }
  std::vector<OnnxValue> parts;
  int64_t first = 0;
  for (const int64_t choices : num_values) {
    parts.push_back(compute(split(graph->Slice(value, -1, first, choices), 1, choices)));
    first += choices;
  }
  // Results with as many numbers as choices are joined side by side.
  if (parts[0].rank() > value.rank()) {
    for (OnnxValue& part : parts) {
      std::vector<int64_t> shape(part.shape.begin(), part.shape.end() - 2);
      shape.push_back(part.shape.back());
      part = graph->Reshape(part, std::move(shape));
    }
  }
  return graph->Concat(parts, -1);
}

}  // namespace

OnnxValue LegalChoices(OnnxGraph* graph, const OnnxValue& mask, const std::vector<int64_t>& num_values) {
  const OnnxValue numbers = graph->Cast(mask, DType::kFloat32);
  const OnnxValue legal = ByElement(graph, numbers, num_values, [&](const OnnxValue& element) {
    const OnnxValue any = graph->Reduce("ReduceMax", element, -1, /*keep=*/true);
    return graph->Equal(element, any);  // 1 if there is a legal one, else 0, as all are.
  });
  return graph->Reshape(legal, mask.shape);
}

OnnxValue LogProbabilities(OnnxGraph* graph, const OnnxValue& logits, const std::vector<int64_t>& num_values,
                           const std::optional<OnnxValue>& legal) {
  const OnnxValue possible =
      legal.has_value() ? graph->Where(*legal, logits, graph->Float(-std::numeric_limits<double>::infinity())) : logits;
  const OnnxValue log_probabilities =
      graph->Reshape(ByElement(graph, possible, num_values,
                               [&](const OnnxValue& element) { return graph->Soft("LogSoftmax", element); }),
                     logits.shape);
  return legal.has_value() ? graph->Where(*legal, log_probabilities, graph->Float(kIllegalLogProb)) : log_probabilities;
}

OnnxValue BestChoices(OnnxGraph* graph, const OnnxValue& numbers, const std::vector<int64_t>& num_values) {
  return ByElement(graph, numbers, num_values, [&](const OnnxValue& element) { return graph->ArgMax(element); });
}

OnnxValue OneHots(OnnxGraph* graph, const OnnxValue& choices, const std::vector<int64_t>& num_values) {
  std::vector<OnnxValue> parts;
  for (size_t i = 0; i < num_values.size(); ++i) {
    std::vector<int64_t> values(static_cast<size_t>(num_values[i]));
    std::iota(values.begin(), values.end(), 0);
    const OnnxValue all = graph->Ints(values, {num_values[i]});
    parts.push_back(graph->Equal(graph->Slice(choices, 1, static_cast<int64_t>(i), 1), all));
  }
  return graph->Cast(graph->Concat(parts, 1), DType::kFloat32);
}

}  // namespace waggle
