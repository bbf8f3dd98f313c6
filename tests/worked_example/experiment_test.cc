// The experiment of docs/authoring.md.

#include "tests/cli/file_contents.h"
#include "tests/conformance/subject.h"

namespace waggle::testing {
namespace {

TEST_CASE("the worked example's experiment is one of its algorithm in CartPole-v1", "[unit]") {
  const Experiment experiment =
      ValueOf(ParseExperiment(Contents(WAGGLE_TEST_WORKED_EXPERIMENT), "cartpole_dqn.yaml", {}, Definitions()));
  EnvironmentSpec cart_pole;
  cart_pole.name = experiment.environment.name;
  cart_pole.observations = {Box("observation", DType::kFloat32, {4})};
  cart_pole.actions = {Discrete("action", 2)};
  CHECK(cart_pole.name == "CartPole-v1");
  CHECK(experiment.algorithm == "dqn");
  REQUIRE_OK(CheckAgainstEnvironment(experiment, cart_pole, Definitions()));
}

}  // namespace
}  // namespace waggle::testing
