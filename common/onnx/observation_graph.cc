#include "common/onnx/observation_graph.h"

#include <algorithm>
#include <cstdint>

#include "common/onnx/choices_graph.h"

namespace waggle {
namespace {

constexpr const char* kKnown[] = {"channels_first", "copy", "flatten", "grayscale", "one_hot", "scale"};

std::vector<int64_t> RowsOf(const std::vector<int64_t>& shape) {
  std::vector<int64_t> rows = {kRows};
  rows.insert(rows.end(), shape.begin(), shape.end());
  return rows;
}

// Each byte's number between the two bounds, as in actor/environments/transforms/scale.cc.
std::vector<float> ScaledBytes(double min, double max) {
  std::vector<float> scaled;
  for (int byte = 0; byte < 256; ++byte) {
    const double share = static_cast<double>(byte) / 255;
    scaled.push_back(static_cast<float>(min * (1 - share) + max * share));
  }
  return scaled;
}

// The luma of uint8 colours, in units of 1/65536 and rounded, as in actor/environments/transforms/pictures.
OnnxValue Luma(OnnxGraph* graph, const OnnxValue& value, const std::vector<int64_t>& shape) {
  const int64_t first = shape.front();  // Channels, unless the last dimension alone can be these.
  const int64_t axis = shape.back() == 3 && first != 1 && first != 3 && first != 4 ? 3 : 1;
  const auto part = [&](int64_t channel, int64_t weight) {
    const OnnxValue bytes = graph->Cast(graph->Slice(value, axis, channel, 1), DType::kInt64);
    return graph->Mul(bytes, graph->Ints({weight}, {}));
  };
  const OnnxValue sum = graph->Add(graph->Add(part(0, 19595), part(1, 38470)), part(2, 7471));
  return graph->Cast(graph->Div(graph->Add(sum, graph->Ints({32768}, {})), graph->Ints({65536}, {})), DType::kUint8);
}

}  // namespace

bool ObservationStep::IsKnown(const std::string& transform) {
  return std::find(std::begin(kKnown), std::end(kKnown), transform) != std::end(kKnown);
}

OnnxValue ObservationGraph::Behind(size_t count, size_t leaf) {
  const auto found = values_.find({count, leaf});
  if (found != values_.end()) {
    return found->second;
  }
  OnnxValue value;
  if (count == 0) {
    const ArraySpec& array = shown_[leaf].array;
    value = graph_->Input(array.name, array.dtype, RowsOf(array.shape));
  } else {
    const ObservationStep& step = steps_[count - 1];
    const std::vector<SpaceLeaf>& before = count == 1 ? shown_ : steps_[count - 2].after;
    const size_t source = leaf < before.size() ? leaf : step.copied;
    value = Changed(step, before[source], step.after[leaf], Behind(count - 1, source));
  }
  return values_[{count, leaf}] = value;
}

OnnxValue ObservationGraph::Changed(const ObservationStep& step, const SpaceLeaf& before, const SpaceLeaf& after,
                                    const OnnxValue& value) {
  if (before.array.shape == after.array.shape && before.array.dtype == after.array.dtype) {
    return value;
  }
  if (step.transform == "scale") {
    const OnnxValue bytes = graph_->Floats(ScaledBytes(step.min, step.max), {256});
    return graph_->Gather(bytes, graph_->Cast(value, DType::kInt64), 0);
  }
  if (step.transform == "channels_first") {
    return graph_->Permuted(value, {0, 3, 1, 2});
  }
  if (step.transform == "one_hot") {
    return OneHots(graph_, graph_->Reshape(value, {kRows, before.array.NumElements()}), before.num_values);
  }
  const OnnxValue changed = step.transform == "grayscale" ? Luma(graph_, value, before.array.shape) : value;
  return graph_->Reshape(changed, RowsOf(after.array.shape));
}

}  // namespace waggle
