#include <cmath>
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

TEST_CASE("A2C has a policy and a value in one network, and unrolls that each version of it acts", "[unit]") {
  const ExperimentPlan plan = Planned(", unroll: 7", Discrete("action", 4));
  REQUIRE(plan.networks.size() == 1);
  CHECK(plan.acting()->name == "actor_critic");
  REQUIRE(plan.acting()->heads.size() == 2);
  CHECK(plan.acting()->heads[0].kind == HeadKind::kCategorical);
  CHECK(plan.acting()->heads[1].kind == HeadKind::kValue);
  CHECK_FALSE(plan.acting()->has_target);
  CHECK(plan.algorithm.scalars.empty());
  CHECK(plan.algorithm.columns.empty());
  CHECK(plan.algorithm.exploration.type == "none");
  CHECK(plan.algorithm.rows_per_version == 7);
  REQUIRE(plan.algorithm.tables.size() == 1);
  CHECK(plan.algorithm.tables[0].window.kind == WindowPlan::Kind::kUnroll);
  CHECK(plan.algorithm.tables[0].window.length == 8);
  CHECK(plan.algorithm.tables[0].window.period == 8);
}

TEST_CASE("A2C's policy is of the action's kind", "[unit]") {
  CHECK(Planned("", MultiDiscrete("action", {2, 3})).acting()->heads[0].kind == HeadKind::kCategorical);
  CHECK(Planned("", Box("action", DType::kFloat32, {2}, -1, 1)).acting()->heads[0].kind == HeadKind::kNormal);
}

TEST_CASE("A2C's weight of the entropy is a scalar where it has a target, and has no optimizer elsewhere", "[unit]") {
  const ExperimentPlan plan = Planned(", entropy: {weight: 0.5, target: 1}", Discrete("action", 4));
  REQUIRE(plan.algorithm.scalars.size() == 1);
  CHECK(plan.algorithm.scalars[0].name == "log_entropy_weight");
  CHECK(plan.algorithm.scalars[0].initial == Approx(std::log(0.5)));
  const absl::Status status = Parse(", entropy: {optimizer: {learning_rate: 0.1}}").status();
  CHECK(absl::IsInvalidArgument(status));
  CHECK(status.message().find("optimizer: unknown key") != std::string::npos);
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
