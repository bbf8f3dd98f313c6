#include "common/experiment/experiment.h"
#include "common/experiment/experiment_plan.h"
#include "common/rl/algorithms/a3c/a3c.h"
#include "common/rl/algorithms/definitions.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("A3C is planned as A2C is, and its actors push their gradients unless told otherwise", "[unit]") {
  EnvironmentSpec environment;
  environment.name = "test";
  environment.observations = {Box("observation", DType::kFloat32, {3})};
  environment.actions = {Discrete("action", 4)};
  const AlgorithmDefinitions definitions = BuiltinAlgorithmDefinitions();
  const Experiment experiment = testing::ValueOf(ParseExperiment(
      "algorithm: {name: a3c, unroll: 7}\nstop: {max_learner_steps: 10}\n", "test.yaml", {}, definitions));
  REQUIRE_OK(CheckAgainstEnvironment(experiment, environment, definitions));
  const ExperimentPlan plan = testing::ValueOf(PlanExperiment(experiment, environment, definitions));
  CHECK(experiment.learner.pushes());
  CHECK(plan.algorithm.rows_per_version == 7);
  REQUIRE(plan.algorithm.tables.size() == 1);
  CHECK(plan.algorithm.tables[0].window.length == 8);
  // Each actor would have a scale of its own.
  CHECK_FALSE(dynamic_cast<const A3cOptions&>(*experiment.algorithm_options).normalize_returns);
  CHECK_FALSE(
      testing::ValueOf(
          ParseExperiment("algorithm: {name: a3c}\nlearner: {gradients: local}\nstop: {max_learner_steps: 10}\n",
                          "test.yaml", {}, definitions))
          .learner.pushes());
}

}  // namespace
}  // namespace waggle
