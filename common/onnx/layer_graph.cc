#include "common/onnx/layer_graph.h"

#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/onnx/choices_graph.h"

namespace waggle {
namespace {

// As in common/nn/layer_stack.cc, and the default of LibTorch's layer_norm.
constexpr double kBatchNormEpsilon = 1e-3;
constexpr double kLayerNormEpsilon = 1e-5;

int64_t Product(const std::vector<int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, [](int64_t a, int64_t b) { return a * b; });
}

}  // namespace

OnnxValue LayerGraph::Parameter(int64_t index) {
  const auto found = parameters_.find(index);
  if (found != parameters_.end()) {
    return found->second;
  }
  const ArraySpec& spec = plan_->parameters[static_cast<size_t>(index)];
  const OnnxValue value =
      graph_->Parameter(absl::StrCat(shown_, spec.name), spec, weights_->at(absl::StrCat(prefix_, spec.name)).data);
  parameters_[index] = value;
  return value;
}

GraphRows LayerGraph::Layers(const std::vector<LayerPlan>& layers, GraphRows rows) {
  for (const LayerPlan& layer : layers) {
    rows = Layer(layer, std::move(rows));
  }
  return rows;
}

GraphRows LayerGraph::Layer(const LayerPlan& layer, GraphRows rows) {
  switch (layer.kind) {
    case LayerPlan::Kind::kDense:
    case LayerPlan::Kind::kNoisyDense:
      rows = Dense(layer, std::move(rows));
      break;
    case LayerPlan::Kind::kConv:
      rows = Conv(layer, rows);
      break;
    case LayerPlan::Kind::kFlatten:
      return Flat(std::move(rows));
    case LayerPlan::Kind::kLayerNorm:
      rows = LayerNorm(layer, rows);
      break;
    case LayerPlan::Kind::kBatchNorm:
      rows = BatchNorm(layer, rows);
      break;
    case LayerPlan::Kind::kResidual: {
      const GraphRows inner = Layers(layer.inner, rows);
      return {graph_->Add(rows.value, inner.value), inner.by_member};
    }
    case LayerPlan::Kind::kEmbedding:
      return Embedding(layer, rows);
    case LayerPlan::Kind::kOneHot:
      return OneHot(layer, rows);
  }
  return {Activated(layer.activation, rows.value), rows.by_member};
}

GraphRows LayerGraph::Flat(GraphRows rows) {
  const std::vector<int64_t> row = rows.row_shape();
  if (row.size() == 1) {
    return rows;
  }
  std::vector<int64_t> shape = {kRows, Product(row)};
  if (rows.by_member) {
    shape.insert(shape.begin(), rows.value.shape[0]);
  }
  return {graph_->Reshape(rows.value, std::move(shape)), rows.by_member};
}

OnnxValue LayerGraph::ForRows(const OnnxValue& parameter) {
  if (!plan_->members.has_value()) {
    return parameter;
  }
  std::vector<int64_t> shape = parameter.shape;
  shape.insert(shape.begin() + 1, 1);
  return graph_->Reshape(parameter, std::move(shape));
}

GraphRows LayerGraph::Dense(const LayerPlan& layer, GraphRows rows) {
  rows = Flat(std::move(rows));
  const OnnxValue weight = Parameter(layer.weight);
  const OnnxValue bias = Parameter(layer.weight + 1);
  if (!plan_->members.has_value()) {
    return {graph_->Gemm(rows.value, weight, bias)};
  }
  return {graph_->Add(graph_->MatMul(rows.value, graph_->Transposed(weight)), ForRows(bias)), true};
}

GraphRows LayerGraph::Conv(const LayerPlan& layer, const GraphRows& rows) {
  const OnnxValue weight = Parameter(layer.weight);
  const OnnxValue bias = Parameter(layer.weight + 1);
  if (!plan_->members.has_value()) {
    return {graph_->Conv(rows.value, weight, bias, layer.stride, layer.padding)};
  }
  const auto member = [&](const OnnxValue& all, int64_t number) {
    const OnnxValue one = graph_->Slice(all, 0, number, 1);
    return graph_->Reshape(one, {one.shape.begin() + 1, one.shape.end()});
  };
  std::vector<OnnxValue> outputs;
  for (int64_t i = 0; i < *plan_->members; ++i) {
    const OnnxValue input = rows.by_member ? member(rows.value, i) : rows.value;
    const OnnxValue output = graph_->Conv(input, member(weight, i), member(bias, i), layer.stride, layer.padding);
    std::vector<int64_t> shape = output.shape;
    shape.insert(shape.begin(), 1);
    outputs.push_back(graph_->Reshape(output, std::move(shape)));
  }
  return {graph_->Concat(outputs, 0), true};
}

GraphRows LayerGraph::LayerNorm(const LayerPlan& layer, const GraphRows& rows) {
  const OnnxValue scale = Parameter(layer.weight);
  const OnnxValue bias = Parameter(layer.weight + 1);
  if (!plan_->members.has_value()) {
    return {graph_->LayerNorm(rows.value, scale, bias, kLayerNormEpsilon)};
  }
  const std::vector<float> ones(static_cast<size_t>(Product(layer.output_shape)), 1);
  const OnnxValue normal =
      graph_->LayerNorm(rows.value, graph_->Floats(ones, layer.output_shape), {}, kLayerNormEpsilon);
  return {graph_->Add(graph_->Mul(normal, ForRows(scale)), ForRows(bias)), true};
}

GraphRows LayerGraph::BatchNorm(const LayerPlan& layer, const GraphRows& rows) {
  const auto of_channels = [&](int64_t index) {
    const OnnxValue value = ForRows(Parameter(index));
    std::vector<int64_t> shape = value.shape;
    shape.insert(shape.end(), layer.output_shape.size() - 1, 1);
    return graph_->Reshape(value, std::move(shape));
  };
  const OnnxValue variance = graph_->Add(of_channels(layer.statistics + 1), graph_->Float(kBatchNormEpsilon));
  const OnnxValue scale = graph_->Div(of_channels(layer.weight), graph_->Unary("Sqrt", variance));
  const OnnxValue shift = graph_->Sub(of_channels(layer.weight + 1), graph_->Mul(of_channels(layer.statistics), scale));
  return {graph_->Add(graph_->Mul(rows.value, scale), shift), plan_->members.has_value()};
}

OnnxValue LayerGraph::Choices(const GraphRows& rows) {
  return graph_->Reshape(graph_->Cast(rows.value, DType::kInt64), {kRows, Product(rows.row_shape())});
}

GraphRows LayerGraph::Embedding(const LayerPlan& layer, const GraphRows& rows) {
  std::vector<int64_t> offsets = {0};
  for (size_t i = 0; i + 1 < layer.num_values.size(); ++i) {
    offsets.push_back(offsets.back() + layer.num_values[i]);
  }
  const auto elements = static_cast<int64_t>(offsets.size());
  const OnnxValue positions = graph_->Add(Choices(rows), graph_->Ints(offsets, {elements}));
  const bool members = plan_->members.has_value();
  const OnnxValue vectors = graph_->Gather(Parameter(layer.weight), positions, members ? 1 : 0);
  std::vector<int64_t> shape = {kRows, elements * vectors.shape.back()};
  if (members) {
    shape.insert(shape.begin(), *plan_->members);
  }
  return {graph_->Reshape(vectors, std::move(shape)), members};
}

GraphRows LayerGraph::OneHot(const LayerPlan& layer, const GraphRows& rows) {
  return {OneHots(graph_, Choices(rows), layer.num_values)};
}

OnnxValue LayerGraph::Activated(Activation activation, const OnnxValue& value) {
  switch (activation) {
    case Activation::kNone:
      return value;
    case Activation::kRelu:
      return graph_->Unary("Relu", value);
    case Activation::kTanh:
      return graph_->Unary("Tanh", value);
    case Activation::kElu:
      return graph_->Unary("Elu", value);
    case Activation::kGelu: {
      const OnnxValue erf = graph_->Unary("Erf", graph_->Mul(value, graph_->Float(std::sqrt(0.5))));
      return graph_->Mul(graph_->Mul(value, graph_->Float(0.5)), graph_->Add(erf, graph_->Float(1)));
    }
    case Activation::kSilu:
      return graph_->Mul(value, graph_->Unary("Sigmoid", value));
    case Activation::kLeakyRelu:
      return graph_->LeakyRelu(value, 0.01);
    case Activation::kSigmoid:
      return graph_->Unary("Sigmoid", value);
  }
  return value;
}

LayerGraph::CoreStep LayerGraph::Core(const CorePlan& core, const OnnxValue& features, const OnnxValue& state) {
  const OnnxValue before = graph_->Slice(state, 1, 0, core.units);
  const OnnxValue in = graph_->Gemm(features, Parameter(core.weight), Parameter(core.weight + 2));
  const OnnxValue back = graph_->Gemm(before, Parameter(core.weight + 1), Parameter(core.weight + 3));
  const auto gate = [&](const OnnxValue& all, int64_t number) {
    return graph_->Slice(all, 1, number * core.units, core.units);
  };
  const auto sigmoid = [&](const OnnxValue& value) { return graph_->Unary("Sigmoid", value); };
  const auto tanh = [&](const OnnxValue& value) { return graph_->Unary("Tanh", value); };
  if (core.kind == CorePlan::Kind::kLstm) {
    const OnnxValue gates = graph_->Add(in, back);
    const OnnxValue kept = graph_->Mul(sigmoid(gate(gates, 1)), graph_->Slice(state, 1, core.units, core.units));
    const OnnxValue cell = graph_->Add(kept, graph_->Mul(sigmoid(gate(gates, 0)), tanh(gate(gates, 2))));
    const OnnxValue output = graph_->Mul(sigmoid(gate(gates, 3)), tanh(cell));
    return {output, graph_->Concat({output, cell}, 1)};
  }
  const OnnxValue reset = sigmoid(graph_->Add(gate(in, 0), gate(back, 0)));
  const OnnxValue update = sigmoid(graph_->Add(gate(in, 1), gate(back, 1)));
  const OnnxValue proposed = tanh(graph_->Add(gate(in, 2), graph_->Mul(reset, gate(back, 2))));
  const OnnxValue output = graph_->Add(proposed, graph_->Mul(update, graph_->Sub(before, proposed)));
  return {output, output};
}

}  // namespace waggle
