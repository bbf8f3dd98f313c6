#include <string>
#include <utility>

#include "common/experiment/experiment.h"
#include "common/experiment/experiment_plan.h"
#include "common/rl/algorithms/a2c/a2c.h"
#include "common/rl/algorithms/definitions.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

absl::StatusOr<Experiment> Parse(const std::string& more) {
  return ParseExperiment("algorithm: {name: a2c" + more + "}\nstop: {max_learner_steps: 10}\n", "test.yaml", {},
                         BuiltinAlgorithmDefinitions());
}

ExperimentPlan Planned(const std::string& more, SpaceLeaf action) {
  EnvironmentSpec environment;
  environment.name = "test";
  environment.observations = {Box("observation", DType::kFloat32, {3})};
  environment.actions = {std::move(action)};
  const Experiment experiment = testing::ValueOf(Parse(more));
  REQUIRE_OK(CheckAgainstEnvironment(experiment, environment, BuiltinAlgorithmDefinitions()));
  return testing::ValueOf(PlanExperiment(experiment, environment, BuiltinAlgorithmDefinitions()));
}

TEST_CASE("A2C learns from unrolls that each version of its network acts", "[unit]") {
  const ExperimentPlan plan = Planned(", unroll: 7", Discrete("action", 4));
  CHECK(plan.acting()->name == "actor_critic");
  CHECK(plan.algorithm.columns.empty());
  CHECK(plan.algorithm.rows_per_version == 7);
  REQUIRE(plan.algorithm.tables.size() == 1);
  CHECK(plan.algorithm.tables[0].window.kind == WindowPlan::Kind::kUnroll);
  CHECK(plan.algorithm.tables[0].window.length == 8);
  CHECK(plan.algorithm.tables[0].window.period == 8);
  CHECK(plan.algorithm.tables[0].batch_size == 16);
}

TEST_CASE("A2C's options are read, printed and read again", "[unit]") {
  const Experiment experiment = testing::ValueOf(
      Parse(", unroll: 5, lambda: 1, value_weight: 0.25, normalize_advantages: true, entropy: {weight: 0.02}"));
  const auto& options = dynamic_cast<const A2cOptions&>(*experiment.algorithm_options);
  CHECK(options.unroll == 5);
  CHECK(options.lambda == 1);
  CHECK(options.value_weight == 0.25);
  CHECK(options.normalize_advantages);
  CHECK(options.entropy.weight == Schedule(0.02));
  CHECK(ToYaml(testing::ValueOf(ParseExperiment(ToYaml(experiment), "again", {}, BuiltinAlgorithmDefinitions()))) ==
        ToYaml(experiment));
  CHECK_FALSE(Parse(", unroll: 0").ok());
  CHECK_FALSE(Parse(", lambda: 1.1").ok());
}

}  // namespace
}  // namespace waggle
