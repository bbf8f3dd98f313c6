#include <cmath>
#include <string>
#include <utility>

#include "common/experiment/experiment.h"
#include "common/experiment/experiment_plan.h"
#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/sac/sac.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

absl::StatusOr<Experiment> Parse(const std::string& more) {
  return ParseExperiment("algorithm: {name: sac" + more + "}\nstop: {max_learner_steps: 10}\n", "test.yaml", {},
                         BuiltinAlgorithmDefinitions());
}

EnvironmentSpec Environment(SpaceLeaf action) {
  EnvironmentSpec environment;
  environment.name = "test";
  environment.observations = {Box("observation", DType::kFloat32, {3})};
  environment.actions = {std::move(action)};
  return environment;
}

ExperimentPlan Planned(const std::string& more, SpaceLeaf action) {
  return testing::ValueOf(
      PlanExperiment(testing::ValueOf(Parse(more)), Environment(std::move(action)), BuiltinAlgorithmDefinitions()));
}

TEST_CASE("SAC has an actor, twin critics of its actions with targets, and a temperature", "[unit]") {
  const ExperimentPlan plan = Planned(", n_step: 3, temperature: 0.5", Box("action", DType::kFloat32, {2}, -1, 1));
  REQUIRE(plan.networks.size() == 2);
  CHECK(plan.acting()->name == "actor");
  CHECK(plan.acting()->heads[0].kind == HeadKind::kTanhNormal);
  CHECK_FALSE(plan.networks[0].has_target);
  CHECK(plan.networks[1].has_target);
  CHECK(plan.networks[1].takes_action);
  CHECK(plan.networks[1].members == 2);
  REQUIRE(plan.algorithm.scalars.size() == 1);
  CHECK(plan.algorithm.scalars[0].name == "log_temperature");
  CHECK(plan.algorithm.scalars[0].initial == Approx(std::log(0.5)));
  CHECK(plan.algorithm.tables.at(0).window.length == 4);
  CHECK(plan.algorithm.tables.at(0).table.sampler.kind == SelectorKind::kUniform);
}

TEST_CASE("SAC of choices has a categorical actor, and critics with a value for each choice", "[unit]") {
  const ExperimentPlan plan = Planned("", Discrete("action", 3));
  CHECK(plan.acting()->heads[0].kind == HeadKind::kCategorical);
  CHECK(plan.networks[1].heads[0].kind == HeadKind::kQ);
  CHECK_FALSE(plan.networks[1].takes_action);
  CHECK(plan.networks[1].has_target);
  CHECK(plan.networks[1].members == 2);
}

TEST_CASE("SAC's temperature is no scalar where it is fixed, and has no target", "[unit]") {
  CHECK(Planned(", learn_temperature: false", Box("action", DType::kFloat32, {2}, -1, 1)).algorithm.scalars.empty());
  const absl::Status status = Parse(", learn_temperature: false, target_entropy: -1").status();
  CHECK(absl::IsInvalidArgument(status));
  CHECK(status.message().find("target_entropy: means nothing while learn_temperature is false") != std::string::npos);
}

TEST_CASE("SAC's options are read, printed and read again", "[unit]") {
  const Experiment experiment =
      testing::ValueOf(Parse(", critics: 3, target_entropy: -1.5, temperature_optimizer: {learning_rate: 0.1}"));
  const auto& options = dynamic_cast<const SacOptions&>(*experiment.algorithm_options);
  CHECK(options.critics == 3);
  CHECK(options.target_entropy == -1.5);
  CHECK(options.temperature_optimizer.learning_rate == 0.1);
  CHECK(ToYaml(testing::ValueOf(ParseExperiment(ToYaml(experiment), "again", {}, BuiltinAlgorithmDefinitions()))) ==
        ToYaml(experiment));
  CHECK_FALSE(Parse(", critics: 0").ok());
  CHECK_FALSE(Parse(", temperature: 0").ok());
}

}  // namespace
}  // namespace waggle
