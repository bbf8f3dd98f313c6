#include "tests/support/unroll_checks.h"

namespace waggle {
namespace {

using testing::ActorCriticOf;
using testing::RandomUnrolls;
using testing::Updated;

// The options are A2C's too, so that one that only A2C has is noticed.
TEST_CASE("A3C's gradient is A2C's", "[unit]") {
  const EnvironmentSpec environment = testing::EnvironmentOf(3, Discrete("action", 4));
  const std::string options =
      ", unroll: 5, discount: 0.9, lambda: 0.7, normalize_returns: false, entropy: {weight: 0.1}";
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

}  // namespace
}  // namespace waggle
