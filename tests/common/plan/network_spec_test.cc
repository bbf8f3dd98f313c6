#include "common/plan/network_spec.h"

#include <string>

#include "common/config/field_checker.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

const ArraySpec kVector{"observation", DType::kFloat32, {4}};
const ArraySpec kImage{"observation", DType::kUint8, {4, 84, 84}};

LayerSpec Conv(int64_t channels, int64_t kernel, int64_t stride) {
  LayerSpec layer;
  layer.type = "conv";
  layer.channels = channels;
  layer.kernel = kernel;
  layer.stride = stride;
  return layer;
}

LayerSpec Mlp(std::vector<int64_t> units) {
  LayerSpec layer;
  layer.units = std::move(units);
  return layer;
}

std::string Names(const NetworkShape& shape) {
  return DebugString(shape.parameters);
}

TEST_CASE("an mlp with a plain head has the shapes of its layers", "[unit]") {
  const NetworkShape shape = testing::ValueOf(InferShapes(NetworkSpec(), kVector, 2));
  CHECK(Names(shape) ==
        "[torso.0.linear1.weight: float32[64, 4], torso.0.linear1.bias: float32[64], "
        "torso.0.linear2.weight: float32[64, 64], torso.0.linear2.bias: float32[64], "
        "head.output.weight: float32[2, 64], head.output.bias: float32[2]]");
  CHECK(shape.num_parameters == 4 * 64 + 64 + 64 * 64 + 64 + 64 * 2 + 2);
  CHECK(shape.activations == std::vector<std::vector<int64_t>>{{4}, {64}, {2}});
}

TEST_CASE("a dueling head has a stream for the value and one for the advantages", "[unit]") {
  NetworkSpec network;
  network.torso = {Mlp({8})};
  network.head.type = "dueling";
  network.head.units = {5};
  const NetworkShape shape = testing::ValueOf(InferShapes(network, kVector, 3));
  CHECK(Names(shape) ==
        "[torso.0.linear1.weight: float32[8, 4], torso.0.linear1.bias: float32[8], "
        "head.value.linear1.weight: float32[5, 8], head.value.linear1.bias: float32[5], "
        "head.value.output.weight: float32[1, 5], head.value.output.bias: float32[1], "
        "head.advantage.linear1.weight: float32[5, 8], head.advantage.linear1.bias: float32[5], "
        "head.advantage.output.weight: float32[3, 5], head.advantage.output.bias: float32[3]]");
}

TEST_CASE("convolutions shrink an image and a dense layer flattens it", "[unit]") {
  NetworkSpec network;
  network.torso = {Conv(32, 8, 4), Conv(64, 4, 2), Conv(64, 3, 1), Mlp({512})};
  const NetworkShape shape = testing::ValueOf(InferShapes(network, kImage, 6));
  CHECK(shape.activations ==
        std::vector<std::vector<int64_t>>{{4, 84, 84}, {32, 20, 20}, {64, 9, 9}, {64, 7, 7}, {512}, {6}});
  CHECK(shape.parameters[6].DebugString() == "torso.3.linear1.weight: float32[512, 3136]");
}

TEST_CASE("what means nothing to a layer's type is refused", "[unit]") {
  LayerSpec mlp = Mlp({8});
  mlp.kernel = 5;
  mlp.padding = 1;
  CHECK(mlp.Validate().message() ==
        "kernel: means nothing to an mlp, which has units\npadding: means nothing to an mlp, which has units");
  LayerSpec conv = Conv(8, 5, 2);
  REQUIRE_OK(conv.Validate());
  conv.units = {8};
  CHECK(conv.Validate().message() == "units: means nothing to a conv, which has channels");
}

TEST_CASE("a network that does not fit is refused with the layer and both shapes", "[unit]") {
  NetworkSpec network;
  network.torso = {Mlp({8}), Conv(32, 3, 1)};
  absl::Status status = InferShapes(network, kVector, 2).status();
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  CHECK(status.message() ==
        "network.torso[1] (conv): its input has the shape [8]; a convolution wants [channels, height, width]");

  network.torso = {Conv(8, 100, 1)};
  status = InferShapes(network, kImage, 2).status();
  CHECK(status.message() ==
        "network.torso[0] (conv): its input of the shape [4, 84, 84] is smaller than its kernel of [100, 100] with a "
        "padding of 0");

  CHECK(InferShapes(NetworkSpec(), kVector, 0).status().message() == "network.head: 0 outputs; wanted at least 1");
  CHECK(InferShapes(NetworkSpec(), ArraySpec{"observation", DType::kFloat32, {0}}, 2).status().code() ==
        absl::StatusCode::kInvalidArgument);
}

TEST_CASE("a network too large for any memory is refused instead of overflowing", "[unit]") {
  NetworkSpec network;
  network.torso = {Conv(4096, 1, 1), Mlp({65536})};
  const ArraySpec observation{"observation", DType::kUint8, {1, 1 << 19, 1 << 19}};
  CHECK(InferShapes(network, observation, 2).status().code() == absl::StatusCode::kInvalidArgument);
}

TEST_CASE("a network's values are checked one by one", "[unit]") {
  const auto message = [](const NetworkSpec& network) { return std::string(Check(network).message()); };
  NetworkSpec network;
  network.torso[0].type = "lstm";
  CHECK(message(network) == "torso[0].type: got \"lstm\"; wanted one of mlp, conv");
  network = NetworkSpec();
  network.torso[0].activation = "rulu";
  CHECK(message(network).find("did you mean \"relu\"?") != std::string::npos);
  network = NetworkSpec();
  network.torso[0].initialization = "ones";
  CHECK_FALSE(Check(network).ok());
  network = NetworkSpec();
  network.torso[0].units = {64, 0};
  CHECK(message(network) == "torso[0].units[1]: got the number 0; wanted an integer in [1, 65536]");
  network.torso[0].units = {};
  CHECK(message(network) == "torso[0].units: an mlp needs at least one layer");
  network = NetworkSpec();
  network.torso[0].stride = 0;
  CHECK_FALSE(Check(network).ok());
  network = NetworkSpec();
  network.head.type = "actor";
  CHECK(message(network) == "head.type: got \"actor\"; wanted one of q, dueling");
  network = NetworkSpec();
  network.torso.clear();
  CHECK(network.Validate() == absl::OkStatus());
}

TEST_CASE("the hash tells networks apart but not how they were initialised", "[unit]") {
  const auto hash = [](const NetworkSpec& network, const ArraySpec& observation, int64_t outputs) {
    return testing::ValueOf(InferShapes(network, observation, outputs)).hash;
  };
  const uint64_t base = hash(NetworkSpec(), kVector, 2);
  CHECK(base == hash(NetworkSpec(), kVector, 2));
  NetworkSpec network;
  network.torso[0].initialization = "orthogonal";
  CHECK(base == hash(network, kVector, 2));
  network.torso[0].activation = "tanh";
  CHECK(base != hash(network, kVector, 2));
  CHECK(base != hash(NetworkSpec(), kVector, 3));
  CHECK(base != hash(NetworkSpec(), ArraySpec{"observation", DType::kFloat64, {4}}, 2));
  network = NetworkSpec();
  network.head.type = "dueling";
  CHECK(base != hash(network, kVector, 2));
  // Two networks whose parameters have the same shapes.
  NetworkSpec one;
  one.torso = {Conv(4, 3, 1)};
  NetworkSpec two = one;
  two.torso[0].padding = 1;
  two.torso[0].stride = 2;
  const ArraySpec small{"observation", DType::kUint8, {1, 3, 3}};
  CHECK(hash(one, small, 2) != hash(two, small, 2));
}

}  // namespace
}  // namespace waggle
