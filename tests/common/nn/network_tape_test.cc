#include "common/nn/network_tape.h"

#include "tests/support/catch.h"
#include "tests/support/networks.h"
#include "tests/support/observations.h"

namespace waggle {
namespace {

using testing::NetworkCase;

std::unique_ptr<Network> Build(const NetworkCase& network_case, torch::ScalarType dtype) {
  NetworkPlan plan =
      testing::ValueOf(PlanNetwork(network_case.network, network_case.observation, network_case.outputs));
  return testing::ValueOf(Network::Create(std::move(plan), torch::kCPU, 7, dtype));
}

TEST_CASE("a tape computes the outputs and the gradients that autograd does", "[unit]") {
  for (const NetworkCase& network_case : testing::NetworkCases()) {
    INFO(network_case.name);
    const std::unique_ptr<Network> network = Build(network_case, torch::kFloat64);
    NetworkTape tape(network.get());
    for (const int64_t rows : {6, 4}) {  // The second pass finds the buffers of the first.
      const torch::Tensor observations = testing::RandomObservations(network_case.observation, rows, 3);
      const torch::Tensor weights = torch::randn({rows, network_case.outputs}, torch::kFloat64);
      network->parameters().gradients().zero_();
      const torch::Tensor expected = network->Forward(observations);
      (expected * weights).sum().backward();
      const torch::Tensor expected_gradients = network->parameters().gradients().clone();
      network->parameters().gradients().fill_(99);

      const torch::Tensor outputs = tape.Forward(observations);
      CHECK(torch::allclose(outputs, expected));
      tape.Backward(weights);
      CHECK(torch::allclose(network->parameters().gradients(), expected_gradients));
    }
  }
}

TEST_CASE("a tape's backward pass over the first rows leaves the others out", "[unit]") {
  for (const NetworkCase& network_case : testing::NetworkCases()) {
    INFO(network_case.name);
    const std::unique_ptr<Network> network = Build(network_case, torch::kFloat64);
    NetworkTape tape(network.get());
    const torch::Tensor observations = testing::RandomObservations(network_case.observation, 6, 3);
    const torch::Tensor weights = torch::randn({2, network_case.outputs}, torch::kFloat64);
    tape.Forward(observations.narrow(0, 0, 2));
    tape.Backward(weights);
    const torch::Tensor expected = network->parameters().gradients().clone();
    tape.Forward(observations);
    tape.Backward(weights);
    CHECK(torch::allclose(network->parameters().gradients(), expected));
  }
}

}  // namespace
}  // namespace waggle
