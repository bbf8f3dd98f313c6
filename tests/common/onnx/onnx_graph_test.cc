#include "common/onnx/onnx_graph.h"

#include <string>
#include <vector>

#include "common/onnx/choices_graph.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

using Shape = std::vector<int64_t>;

TEST_CASE("Shapes follow from the arguments, with a free number of rows", "[unit]") {
  OnnxGraph graph;
  const OnnxValue rows = graph.Input("x", DType::kFloat32, {kRows, 6});
  const OnnxValue weight = graph.Floats(std::vector<float>(12), {2, 6});
  CHECK(graph.Gemm(rows, weight, graph.Floats({0, 0}, {2})).shape == Shape{kRows, 2});
  CHECK(graph.Add(rows, graph.Float(1)).shape == Shape{kRows, 6});
  const OnnxValue members = graph.Floats(std::vector<float>(36), {3, 6, 2});
  CHECK(graph.MatMul(rows, members).shape == Shape{3, kRows, 2});
  CHECK(graph.Slice(rows, -1, 2, 3).shape == Shape{kRows, 3});
  CHECK(graph.Concat({rows, rows}, 1).shape == Shape{kRows, 12});
  CHECK(graph.Reduce("ReduceMean", rows, -1).shape == Shape{kRows});
  CHECK(graph.ArgMax(rows, /*keep=*/true).shape == Shape{kRows, 1});
  const OnnxValue picture = graph.Input("picture", DType::kFloat32, {kRows, 3, 9, 8});
  const OnnxValue kernel = graph.Floats(std::vector<float>(4 * 3 * 9), {4, 3, 3, 3});
  CHECK(graph.Conv(picture, kernel, graph.Floats({0, 0, 0, 0}, {4}), 2, 1).shape == Shape{kRows, 4, 5, 4});
}

TEST_CASE("Constants of equal content are one, and parameters keep their names", "[unit]") {
  OnnxGraph graph;
  CHECK(graph.Float(2).name == graph.Float(2).name);
  CHECK(graph.Float(2).name != graph.Floats({2}, {1}).name);
  const float number = 3;
  graph.Parameter("torso.weight", {"", DType::kFloat32, {1}},
                  ByteSlices(ByteSlice{reinterpret_cast<const char*>(&number), sizeof(number), nullptr}));
  const onnx::GraphProto made = graph.Take();
  REQUIRE(made.initializer_size() == 3);
  CHECK(made.initializer(2).name() == "torso.weight");
  CHECK(made.initializer(2).raw_data() == std::string(reinterpret_cast<const char*>(&number), sizeof(number)));
}

TEST_CASE("An operation that changes nothing makes no node", "[unit]") {
  OnnxGraph graph;
  const OnnxValue rows = graph.Input("x", DType::kFloat32, {kRows, 6});
  CHECK(graph.Slice(rows, 1, 0, 6).name == "x");
  CHECK(graph.Reshape(rows, {kRows, 6}).name == "x");
  CHECK(graph.Cast(rows, DType::kFloat32).name == "x");
  CHECK(graph.Concat({rows}, 1).name == "x");
  CHECK(graph.Take().node_size() == 0);
}

TEST_CASE("Inputs and outputs tell their types and their free dimension", "[unit]") {
  OnnxGraph graph;
  graph.Output("action", graph.ArgMax(graph.Input("observation", DType::kFloat32, {kRows, 6})));
  const onnx::GraphProto made = graph.Take();
  const onnx::TypeProto::Tensor& input = made.input(0).type().tensor_type();
  CHECK(input.elem_type() == onnx::TensorProto::FLOAT);
  CHECK(input.shape().dim(0).dim_param() == "batch");
  CHECK(input.shape().dim(1).dim_value() == 6);
  CHECK(made.output(0).name() == "action");
  CHECK(made.output(0).type().tensor_type().elem_type() == onnx::TensorProto::INT64);
}

TEST_CASE("Choices of different sizes are chosen element by element", "[unit]") {
  OnnxGraph graph;
  const OnnxValue logits = graph.Input("x", DType::kFloat32, {kRows, 7});
  const OnnxValue mask = graph.Input("mask", DType::kBool, {kRows, 7});
  for (const Shape& num_values : {Shape{3, 4}, Shape{7}}) {
    const OnnxValue legal = LegalChoices(&graph, mask, num_values);
    CHECK(legal.shape == mask.shape);
    CHECK(LogProbabilities(&graph, logits, num_values, legal).shape == logits.shape);
    CHECK(BestChoices(&graph, logits, num_values).shape == Shape{kRows, static_cast<int64_t>(num_values.size())});
  }
  CHECK(OneHots(&graph, BestChoices(&graph, logits, {3, 4}), {3, 4}).shape == Shape{kRows, 7});
}

}  // namespace
}  // namespace waggle::testing
