#include "common/config/experiment/experiment_plan.h"
#include "common/config/experiment/memory_estimate.h"
#include "common/rl/algorithms/definitions.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::ValueOf;

double LearnerBytes(const std::string& algorithm) {
  EnvironmentSpec environment;
  environment.name = "test";
  environment.observations = {Box("observation", DType::kFloat32, {1000})};
  environment.actions = {Discrete("action", 4)};
  const AlgorithmDefinitions definitions = BuiltinAlgorithmDefinitions();
  const Experiment experiment = ValueOf(
      ParseExperiment("algorithm: {" + algorithm + "}\nstop: {max_seconds: 1}\n", "test.yaml", {}, definitions));
  for (const ProcessMemory& memory : ValueOf(EstimateMemory(experiment, environment, definitions))) {
    if (memory.role == Role::kLearner) {
      return memory.Bytes();
    }
  }
  FAIL("no learner");
  return 0;
}

TEST_CASE("PPG's learner needs memory for the batches of its policy phases, and in a checkpoint", "[unit]") {
  const double one = LearnerBytes("name: ppg, unroll: 10, policy_phases: 1");
  const double five = LearnerBytes("name: ppg, unroll: 10, policy_phases: 5");
  // 16 lanes, 11 rows of 1000 numbers each, and a little more.
  CHECK(five - one == Approx(2 * 4 * 16 * 11 * 4000).epsilon(0.02));
}

}  // namespace
}  // namespace waggle
