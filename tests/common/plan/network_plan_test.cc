#include "common/plan/network_plan.h"

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("a plan lists each layer with its parameters and what follows it", "[unit]") {
  NetworkSpec network;
  network.torso.resize(2);
  network.torso[0].type = "conv";
  network.torso[0].channels = 3;
  network.torso[0].kernel = 2;
  network.torso[0].stride = 2;
  network.torso[0].padding = 1;
  network.torso[0].activation = "elu";
  network.torso[1].units = {7};
  network.torso[1].initialization = "orthogonal";
  network.head.type = "dueling";
  const ArraySpec observation{"observation", DType::kUint8, {1, 4, 4}};
  const NetworkPlan plan = testing::ValueOf(PlanNetwork(network, observation, 5));

  REQUIRE(plan.torso.size() == 2);
  CHECK(plan.torso[0].kind == LayerPlan::Kind::kConv);
  CHECK(plan.torso[0].weight == 0);
  CHECK(plan.torso[0].stride == 2);
  CHECK(plan.torso[0].padding == 1);
  CHECK(plan.torso[0].activation == Activation::kElu);
  CHECK(plan.torso[1].kind == LayerPlan::Kind::kDense);
  CHECK(plan.torso[1].weight == 2);
  CHECK(plan.torso[1].initialization == Initialization::kOrthogonal);
  REQUIRE(plan.value.size() == 1);
  REQUIRE(plan.output.size() == 1);
  CHECK(plan.shape.parameters[static_cast<size_t>(plan.value[0].weight)].shape == std::vector<int64_t>{1, 7});
  CHECK(plan.shape.parameters[static_cast<size_t>(plan.output[0].weight)].shape == std::vector<int64_t>{5, 7});
  CHECK(plan.output[0].activation == Activation::kNone);
  CHECK(plan.num_outputs == 5);
  CHECK(plan.observation == observation);
}

TEST_CASE("a network of more parameters than one array can have is refused", "[unit]") {
  NetworkSpec network;
  // 2 ^ 32 parameters a layer, but for the first.
  network.torso[0].units.assign(64, 65'536);
  const ArraySpec observation{"observation", DType::kFloat32, {4}};
  CHECK(testing::ValueOf(PlanNetwork(network, observation, 2)).shape.num_parameters > 63 * (int64_t{1} << 32));
  network.torso[0].units.assign(65, 65'536);
  const absl::Status refused = PlanNetwork(network, observation, 2).status();
  REQUIRE_CODE(refused, absl::StatusCode::kInvalidArgument);
  CHECK(refused.message() == "network: its parameters have more than 1099511627776 bytes together");
}

TEST_CASE("every activation and initialisation that may be written is planned as itself", "[unit]") {
  const std::vector<std::pair<std::string, Activation>> activations = {{"none", Activation::kNone},
                                                                       {"relu", Activation::kRelu},
                                                                       {"tanh", Activation::kTanh},
                                                                       {"elu", Activation::kElu},
                                                                       {"gelu", Activation::kGelu},
                                                                       {"silu", Activation::kSilu},
                                                                       {"leaky_relu", Activation::kLeakyRelu},
                                                                       {"sigmoid", Activation::kSigmoid}};
  const std::vector<std::pair<std::string, Initialization>> initializations = {
      {"default", Initialization::kDefault},
      {"orthogonal", Initialization::kOrthogonal},
      {"xavier_uniform", Initialization::kXavierUniform},
      {"kaiming_normal", Initialization::kKaimingNormal},
      {"zeros", Initialization::kZeros}};
  const ArraySpec observation{"observation", DType::kFloat32, {4}};
  for (const auto& [name, activation] : activations) {
    NetworkSpec network;
    network.torso[0].activation = name;
    CHECK(testing::ValueOf(PlanNetwork(network, observation, 2)).torso[0].activation == activation);
  }
  for (const auto& [name, initialization] : initializations) {
    NetworkSpec network;
    network.torso[0].initialization = name;
    CHECK(testing::ValueOf(PlanNetwork(network, observation, 2)).torso[0].initialization == initialization);
  }
}

}  // namespace
}  // namespace waggle
