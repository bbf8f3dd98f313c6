#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
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

TEST_CASE("PPO learns from unrolls that say how likely their actions were", "[unit]") {
  const ExperimentPlan plan = Planned(", unroll: 7", Box("action", DType::kFloat32, {2}, -1, 1));
  CHECK(plan.acting()->name == "actor_critic");
  CHECK(plan.algorithm.columns == std::vector<std::string>{"log_prob"});
  CHECK(plan.algorithm.rows_per_version == 7);
  REQUIRE(plan.algorithm.tables.size() == 1);
  const TablePlan& table = plan.algorithm.tables[0];
  CHECK(table.window.kind == WindowPlan::Kind::kUnroll);
  CHECK(table.window.length == 8);
  CHECK(table.table.signature.back() == ArraySpec{"log_prob", DType::kFloat32, {}});
}

TEST_CASE("PPO's minibatches are at most as many as what a pass has to be split", "[unit]") {
  const auto problems = [](int64_t minibatches, const std::string& core) {
    const Experiment experiment = testing::ValueOf(
        ParseExperiment(absl::StrCat("algorithm: {name: ppo, unroll: 5, minibatches: ", minibatches,
                                     "}\nactor: {lanes: 3}\nnetworks: {actor_critic: {core: {type: ", core,
                                     "}}}\nstop: {max_learner_steps: 10}\n"),
                        "test.yaml", {}, BuiltinAlgorithmDefinitions()));
    EnvironmentSpec environment;
    environment.name = "test";
    environment.observations = {Box("observation", DType::kFloat32, {3})};
    environment.actions = {Discrete("action", 4)};
    return std::string(CheckAgainstEnvironment(experiment, environment, BuiltinAlgorithmDefinitions()).message());
  };
  CHECK(problems(7, "none").empty());
  CHECK(
      problems(8, "none") ==
      "algorithm.minibatches: 8: with normalize_advantages, whose mean is taken over a minibatch, one of a single step "
      "learns nothing; wanted at most 7");
  CHECK(problems(16, "none") ==
        "algorithm.minibatches: 16: a learner step learns from 15 steps; wanted at most as many");
  CHECK(problems(3, "lstm").empty());
  CHECK(problems(4, "lstm") ==
        "algorithm.minibatches: 4: a learner step learns from 3 unrolls; wanted at most as many");
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
