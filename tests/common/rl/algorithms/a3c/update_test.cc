#include "tests/support/two_states.h"
#include "tests/support/unroll_checks.h"

namespace waggle {
namespace {

using testing::ActorCriticOf;
using testing::RandomUnrolls;
using testing::Updated;

TEST_CASE("A3C's gradient is A2C's", "[unit]") {
  const EnvironmentSpec environment = testing::EnvironmentOf(3, Discrete("action", 4));
  const std::string options = ", unroll: 5, discount: 0.9, lambda: 0.7, normalize_returns: false, entropy: {weight: 0.1}";
  std::vector<torch::Tensor> gradients;
  for (const std::string name : {"a2c", "a3c"}) {
    const auto trainee = ActorCriticOf("name: " + name + options, environment);
    CaptureStepper stepper;
    Updated(trainee.get(), RandomUnrolls(environment, 3), &stepper);
    gradients.push_back(stepper.gradients().at("actor_critic"));
  }
  CHECK(gradients[0].abs().max().item<double>() > 0);
  CHECK(torch::equal(gradients[0], gradients[1]));
}

TEST_CASE("A3C finds the optimum of two states", "[unit]") {
  const auto trainee = ActorCriticOf("name: a3c, discount: 0.9, optimizer: {type: adam, learning_rate: 0.02}",
                                     testing::TwoStates::Environment(), torch::kFloat64, 1, 16);
  testing::CheckSolvesTwoStates(trainee.get(), 300);
}

}  // namespace
}  // namespace waggle
