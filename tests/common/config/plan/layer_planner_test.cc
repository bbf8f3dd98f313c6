#include "common/config/plan/layer_planner.h"

#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/networks.h"

namespace waggle {
namespace {

using testing::Conv;
using testing::Embedding;
using testing::Layer;
using testing::Mlp;
using testing::Residual;
using Shape = std::vector<int64_t>;

// The plan of layers over rows of a shape.
struct Planned {
  absl::Status status;
  Shape shape;
  std::vector<LayerPlan> layers;
  std::vector<ArraySpec> parameters;
  std::vector<ArraySpec> statistics;

  std::string message() const { return std::string(status.message()); }
};

Planned Plan(Shape shape, const std::vector<LayerSpec>& specs, std::vector<int64_t> num_values = {},
             std::optional<int64_t> members = {}) {
  Planned planned;
  LayerPlanner planner(members, &planned.parameters, &planned.statistics);
  planner.Begin(std::move(shape), std::move(num_values));
  for (size_t i = 0; i < specs.size() && planned.status.ok(); ++i) {
    planned.status = planner.Add(std::to_string(i), specs[i], &planned.layers);
  }
  planned.shape = planner.shape();
  return planned;
}

TEST_CASE("an mlp is a dense layer a width", "[unit]") {
  const Planned planned = Plan({4}, {Mlp({8, 5}, "tanh")});
  REQUIRE_OK(planned.status);
  CHECK(planned.shape == Shape{5});
  CHECK(DebugString(planned.parameters) ==
        "[0.linear1.weight: float32[8, 4], 0.linear1.bias: float32[8], "
        "0.linear2.weight: float32[5, 8], 0.linear2.bias: float32[5]]");
  REQUIRE(planned.layers.size() == 2);
  CHECK(planned.layers[0].kind == LayerPlan::Kind::kDense);
  CHECK(planned.layers[0].output_shape == Shape{8});
  CHECK(planned.layers[1].weight == 2);
  CHECK(planned.layers[1].activation == Activation::kTanh);
}

TEST_CASE("a convolution shrinks an image by its kernel, stride and padding", "[unit]") {
  const Planned planned = Plan({4, 84, 83}, {Conv(32, 8, 4), Conv(64, 4, 2, 1), Mlp({512})});
  REQUIRE_OK(planned.status);
  CHECK(planned.layers[0].output_shape == Shape{32, 20, 19});
  CHECK(planned.layers[1].output_shape == Shape{64, 10, 9});
  CHECK(planned.layers[1].stride == 2);
  CHECK(planned.layers[1].padding == 1);
  CHECK(planned.parameters[0].DebugString() == "0.conv.weight: float32[32, 4, 8, 8]");
  CHECK(planned.parameters[1].DebugString() == "0.conv.bias: float32[32]");
  CHECK(planned.parameters[4].DebugString() == "2.linear1.weight: float32[512, 5760]");
  // The image may be as small as the kernel.
  CHECK(Plan({1, 3, 3}, {Conv(2, 3)}).shape == Shape{2, 1, 1});
  CHECK(Plan({1, 1, 1}, {Conv(2, 3, 1, 1)}).shape == Shape{2, 1, 1});
}

TEST_CASE("a norm keeps the shape, a residual the width, and flattening makes a vector", "[unit]") {
  const Planned norm = Plan({2, 3, 4}, {Layer("layer_norm"), Layer("flatten"), Residual({7}, "elu")});
  REQUIRE_OK(norm.status);
  CHECK(DebugString(norm.parameters) ==
        "[0.norm.weight: float32[2, 3, 4], 0.norm.bias: float32[2, 3, 4], "
        "2.linear1.weight: float32[7, 24], 2.linear1.bias: float32[7], "
        "2.linear2.weight: float32[24, 7], 2.linear2.bias: float32[24]]");
  CHECK(norm.layers[0].output_shape == Shape{2, 3, 4});
  CHECK(norm.layers[0].activation == Activation::kNone);
  CHECK(norm.layers[1].input_rank == 3);
  CHECK(norm.layers[1].weight == -1);
  CHECK(norm.shape == Shape{24});
  REQUIRE(norm.layers[2].inner.size() == 2);
  CHECK(norm.layers[2].weight == -1);
  CHECK(norm.layers[2].inner[0].activation == Activation::kElu);
  CHECK(norm.layers[2].inner[1].activation == Activation::kNone);
}

TEST_CASE("choices become one-hot or learned vectors, those of several elements one after the other", "[unit]") {
  const Planned one_hot = Plan({2}, {Layer("one_hot")}, {3, 4});
  REQUIRE_OK(one_hot.status);
  CHECK(one_hot.shape == Shape{7});
  CHECK(one_hot.layers[0].num_values == Shape{3, 4});
  CHECK(one_hot.parameters.empty());
  const Planned embedding = Plan({2}, {Embedding(5), Mlp({3})}, {3, 4});
  REQUIRE_OK(embedding.status);
  CHECK(embedding.layers[0].output_shape == Shape{10});
  CHECK(embedding.parameters[0].DebugString() == "0.embedding.weight: float32[7, 5]");
  CHECK(embedding.parameters[1].DebugString() == "1.linear1.weight: float32[3, 10]");
}

TEST_CASE("a batch norm has a scale, a shift and running statistics for each channel", "[unit]") {
  const Planned planned = Plan({2, 3, 4}, {Layer("batch_norm", "relu"), Layer("flatten"), Layer("batch_norm")}, {}, 5);
  REQUIRE_OK(planned.status);
  CHECK(planned.shape == Shape{24});
  CHECK(planned.layers[0].output_shape == Shape{2, 3, 4});
  CHECK(planned.layers[0].activation == Activation::kRelu);
  CHECK(DebugString(planned.parameters) ==
        "[0.norm.weight: float32[5, 2], 0.norm.bias: float32[5, 2], "
        "2.norm.weight: float32[5, 24], 2.norm.bias: float32[5, 24]]");
  CHECK(DebugString(planned.statistics) ==
        "[0.norm.mean: float32[5, 2], 0.norm.variance: float32[5, 2], 0.norm.batches: float32[5, 1], "
        "2.norm.mean: float32[5, 24], 2.norm.variance: float32[5, 24], 2.norm.batches: float32[5, 1]]");
  CHECK(planned.layers[2].weight == 2);
  CHECK(planned.layers[2].statistics == 3);
}

TEST_CASE("a layer that does not fit is refused with the shape that it got", "[unit]") {
  CHECK(Plan({8}, {Conv(2, 3)}).message() ==
        "its input has the shape [8]; a convolution wants [channels, height, width]");
  CHECK(Plan({3, 9, 8}, {Conv(2, 9)}).message() ==
        "its input of the shape [3, 9, 8] is smaller than its kernel of [9, 9] with a padding of 0");
  CHECK(Plan({3, 4, 4}, {Residual({8})}).message() == "its input has the shape [3, 4, 4]; a residual wants a vector");
  CHECK(Plan({4}, {Embedding(2)}).message() == "its input is numbers; an embedding wants choices");
  CHECK(Plan({4}, {Layer("one_hot")}).message() == "its input is numbers; one_hot wants choices");
  // Choices are vectors after the first layer.
  CHECK(Plan({}, {Embedding(2), Layer("one_hot")}, {3}).message() == "its input is numbers; one_hot wants choices");
  for (const char* type : {"mlp", "conv", "flatten", "layer_norm", "batch_norm", "residual"}) {
    CHECK(Plan({2}, {Layer(type)}, {3, 4}).message() ==
          "its input is choices; wanted one_hot or embedding before a layer of numbers");
  }
}

TEST_CASE("an image is never flattened unasked", "[unit]") {
  const std::string refused =
      "its input has the shape [3, 4, 4]; wanted a vector: put conv or flatten layers before it";
  CHECK(Plan({3, 4, 4}, {Mlp({8})}).message() == refused);
  CHECK(Plan({3, 4, 4}, {Layer("layer_norm"), Mlp({8})}).message() == refused);
  CHECK(Plan({3, 4, 4}, {Layer("batch_norm"), Mlp({8})}).message() == refused);
  CHECK_FALSE(Plan({4, 4}, {Mlp({8})}).status.ok());
  REQUIRE_OK(Plan({3, 4, 4}, {Layer("flatten"), Mlp({8})}).status);
  REQUIRE_OK(Plan({3, 4, 4}, {Conv(2, 3), Mlp({8})}).status);
  REQUIRE_OK(Plan({3, 4, 4}, {Conv(2, 3), Layer("layer_norm"), Mlp({8})}).status);
}

TEST_CASE("layers too large for any memory are refused without overflow", "[unit]") {
  const int64_t large = int64_t{1} << 19;
  CHECK_FALSE(Plan({1, large, large}, {Conv(4096, 1)}).status.ok());
  CHECK_FALSE(Plan({1, large, large}, {Layer("flatten"), Mlp({65'536})}).status.ok());
  CHECK_FALSE(Plan({4}, {Mlp({65'536})}, {}, int64_t{1} << 40).status.ok());
  const std::vector<int64_t> many(size_t{1} << 12, int64_t{1} << 40);
  const Shape elements = {int64_t{1} << 12};
  CHECK_FALSE(Plan(elements, {Layer("one_hot")}, many).status.ok());
  CHECK_FALSE(Plan(elements, {Embedding(65'536)}, many).status.ok());
  // A sum that would pass 2 ^ 63.
  const std::vector<int64_t> very_many(size_t{1} << 23, int64_t{1} << 40);
  CHECK_FALSE(Plan({int64_t{1} << 23}, {Layer("one_hot")}, very_many).status.ok());
  CHECK_FALSE(Plan({int64_t{1} << 23}, {Embedding(1)}, very_many).status.ok());
}

}  // namespace
}  // namespace waggle
