#include <string>
#include <utility>
#include <vector>

#include "common/experiment/experiment.h"
#include "common/experiment/experiment_plan.h"
#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/ppo/ppo.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

absl::StatusOr<Experiment> Parse(const std::string& more) {
  return ParseExperiment("algorithm: {name: ppo" + more + "}\nstop: {max_learner_steps: 10}\n", "test.yaml", {},
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

TEST_CASE("PPO has a policy and a value in one network, and unrolls that say how likely their actions were", "[unit]") {
  const ExperimentPlan plan = Planned(", unroll: 7", Box("action", DType::kFloat32, {2}, -1, 1));
  REQUIRE(plan.networks.size() == 1);
  CHECK(plan.acting()->name == "actor_critic");
  REQUIRE(plan.acting()->heads.size() == 2);
  CHECK(plan.acting()->heads[0].kind == HeadKind::kNormal);
  CHECK(plan.acting()->heads[1].kind == HeadKind::kValue);
  CHECK(plan.algorithm.scalars.empty());
  CHECK(plan.algorithm.columns == std::vector<std::string>{"log_prob"});
  CHECK(plan.algorithm.exploration.type == "none");
  CHECK(plan.algorithm.rows_per_version == 7);
  REQUIRE(plan.algorithm.tables.size() == 1);
  const TablePlan& table = plan.algorithm.tables[0];
  CHECK(table.window.kind == WindowPlan::Kind::kUnroll);
  CHECK(table.window.length == 8);
  CHECK(table.table.signature.back() == ArraySpec{"log_prob", DType::kFloat32, {}});
  CHECK(Planned("", MultiDiscrete("action", {2, 3})).acting()->heads[0].kind == HeadKind::kCategorical);
}

TEST_CASE("PPO's options are read, printed and read again", "[unit]") {
  const Experiment experiment = testing::ValueOf(
      Parse(", epochs: 3, minibatches: 8, clip: {from: 0.2, to: 0.1, shape: linear}, value_clip: 0.5, "
            "max_divergence: 0.02, entropy: {weight: 0.1, target: -1, optimizer: {learning_rate: 0.1}}"));
  const auto& options = dynamic_cast<const PpoOptions&>(*experiment.algorithm_options);
  CHECK(options.epochs == 3);
  CHECK(options.minibatches == 8);
  CHECK(options.clip == Schedule::Linear(0.2, 0.1));
  CHECK(options.value_clip == 0.5);
  CHECK(options.max_divergence == 0.02);
  CHECK(options.entropy.target == -1);
  CHECK(ToYaml(testing::ValueOf(ParseExperiment(ToYaml(experiment), "again", {}, BuiltinAlgorithmDefinitions()))) ==
        ToYaml(experiment));
  CHECK_FALSE(Parse(", clip: 0").ok());
  CHECK_FALSE(Parse(", minibatches: 0").ok());
  CHECK_FALSE(Parse(", value_clip: 0").ok());
}

}  // namespace
}  // namespace waggle
