#include "common/nn/network.h"

#include "tests/support/catch.h"
#include "tests/support/networks.h"
#include "tests/support/observations.h"

namespace waggle {
namespace {

using testing::NetworkCase;

std::unique_ptr<Network> Build(const NetworkCase& network_case, torch::ScalarType dtype = torch::kFloat32,
                               uint64_t seed = 7) {
  NetworkPlan plan =
      testing::ValueOf(PlanNetwork(network_case.network, network_case.observation, network_case.outputs));
  return testing::ValueOf(Network::Create(std::move(plan), torch::kCPU, seed, dtype));
}

TEST_CASE("every network has the parameters and the outputs that were inferred", "[unit]") {
  for (const NetworkCase& network_case : testing::NetworkCases()) {
    INFO(network_case.name);
    const NetworkShape shape =
        testing::ValueOf(InferShapes(network_case.network, network_case.observation, network_case.outputs));
    const std::unique_ptr<Network> network = Build(network_case);
    CHECK(network->parameters().size() == shape.num_parameters);
    CHECK((network->parameters().layout() == shape.parameters));
    const torch::Tensor outputs = network->Forward(testing::RandomObservations(network_case.observation, 5, 1));
    CHECK(outputs.sizes().vec() == std::vector<int64_t>{5, network_case.outputs});
    CHECK(torch::isfinite(outputs).all().item<bool>());
  }
}

TEST_CASE("the same seed builds the same network and another seed another", "[unit]") {
  const NetworkCase network_case = testing::NetworkCases()[0];
  const torch::Tensor values = Build(network_case)->parameters().values();
  CHECK(torch::equal(values, Build(network_case)->parameters().values()));
  CHECK_FALSE(torch::equal(values, Build(network_case, torch::kFloat32, 8)->parameters().values()));
}

TEST_CASE("bytes are scaled to between 0 and 1", "[unit]") {
  NetworkCase network_case;
  network_case.observation = ArraySpec{"observation", DType::kUint8, {3}};
  network_case.outputs = 2;
  const std::unique_ptr<Network> network = Build(network_case);
  const torch::Tensor bytes = torch::tensor({0, 51, 255}, torch::kUInt8).view({1, 3});
  CHECK(torch::allclose(network->Enter(bytes), torch::tensor({0.0F, 0.2F, 1.0F}).view({1, 3})));
}

TEST_CASE("a dueling head is the value plus the advantages less their mean", "[unit]") {
  NetworkCase network_case;
  network_case.observation = ArraySpec{"observation", DType::kFloat32, {2}};
  network_case.outputs = 3;
  network_case.network.torso = {};
  network_case.network.head.type = "dueling";
  const std::unique_ptr<Network> network = Build(network_case);
  torch::NoGradGuard no_grad;
  const std::vector<torch::Tensor>& values = network->parameters().value_views();
  values[0].copy_(torch::tensor({{1.0F, 2.0F}}));
  values[1].fill_(10);
  values[2].copy_(torch::tensor({{1.0F, 0.0F}, {0.0F, 1.0F}, {0.0F, 0.0F}}));
  values[3].zero_();
  // V = 1 * 3 + 2 * 6 + 10 = 25; A = (3, 6, 0), whose mean is 3.
  const torch::Tensor outputs = network->Forward(torch::tensor({{3.0F, 6.0F}}));
  CHECK(torch::allclose(outputs, torch::tensor({{25.0F, 28.0F, 22.0F}})));
}

}  // namespace
}  // namespace waggle
