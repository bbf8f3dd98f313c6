#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status_macros.h"
#include "common/config/experiment/experiment_plan.h"
#include "common/rl/algorithms/definitions.h"
#include "common/rl/modules/lagrangian/lagrangian.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::ValueOf;

absl::StatusOr<ExperimentPlan> PlanOf(const std::string& module, const std::string& algorithm = "sac",
                                      std::vector<int64_t> reward = {2},
                                      const std::vector<std::pair<std::string, std::string>>& overrides = {}) {
  EnvironmentSpec environment;
  environment.name = "test";
  environment.observations = {Box("observation", DType::kFloat32, {3})};
  environment.actions = {Box("action", DType::kFloat32, {1}, -1, 1)};
  environment.rewards = {ArraySpec{"reward", DType::kFloat32, std::move(reward)}};
  WAGGLE_ASSIGN_OR_RETURN(const Experiment experiment,
                          ParseExperiment("algorithm: {name: " + algorithm + ", modules: [{type: lagrangian, " +
                                              module + "}]}\nstop: {max_seconds: 1}\n",
                                          "test.yaml", overrides, BuiltinAlgorithmDefinitions()));
  return PlanExperiment(experiment, environment, BuiltinAlgorithmDefinitions());
}

TEST_CASE("bounds learn from the newest steps of replayed items, and from the batch of a queue", "[unit]") {
  const std::string bound = "window: 500, bounds: [{dimension: 1, least: -0.5}]";
  const AlgorithmPlan replayed = ValueOf(PlanOf(bound)).algorithm;
  REQUIRE(replayed.tables.size() == 2);
  CHECK(replayed.tables[1].name == kNewestRewards);
  CHECK(replayed.tables[1].is_modules);
  CHECK(replayed.tables[1].table.max_items == 500);
  CHECK(replayed.tables[1].table.signature == replayed.tables[0].table.signature);
  CHECK(replayed.scalars.back().name == "lagrangian_weight_1");
  CHECK(replayed.scalars.back().initial == Approx(std::log(std::exp(1.0) - 1)));
  CHECK(ValueOf(PlanOf(bound, "ppo")).algorithm.tables.size() == 1);
}

TEST_CASE("bounds that learn from evaluations need no table, and no deterministic run has them", "[unit]") {
  const std::string module = "rewards: evaluations, bounds: [{dimension: 1, least: -0.5}]";
  const AlgorithmPlan plan = ValueOf(PlanOf(module)).algorithm;
  CHECK(plan.tables.size() == 1);
  CHECK(plan.reads_evaluations);
  CHECK_THAT(std::string(PlanOf("rewards: evaluations, window: 5").status().message()), Catch::Contains("window: "));
  const absl::StatusOr<ExperimentPlan> deterministic =
      PlanOf(module, "sac", {2},
             {{"experiment.deterministic", "true"}, {"stop.max_seconds", "0"}, {"stop.max_env_steps", "1000"}});
  CHECK_THAT(std::string(deterministic.status().message()), Catch::Contains("rewards: actors"));
  CHECK_THAT(std::string(PlanOf(module, "sac", {2}, {{"evaluation.enabled", "false"}}).status().message()),
             Catch::Contains("evaluation.enabled: got false"));
}

TEST_CASE("bounds that the reward cannot have are refused", "[unit]") {
  const auto refused = [](const std::string& module, std::vector<int64_t> reward = {2}) {
    return std::string(PlanOf(module, "sac", std::move(reward)).status().message());
  };
  CHECK(refused("window: 5") == "algorithm.modules[0].bounds: got none; wanted at least one");
  CHECK(refused("bounds: [{dimension: 2}]") ==
        "algorithm.modules[0].bounds[0].dimension: got 2; wanted one of reward: float32[2]");
  CHECK(refused("bounds: [{dimension: 1}, {dimension: 1}]") ==
        "algorithm.modules[0].bounds[1].dimension: got 1 a second time; wanted one bound for each dimension");
  CHECK(refused("bounds: [{dimension: 0}]", {}) ==
        "algorithm.modules[0].type: got an environment with reward: float32[]; wanted one whose reward has several "
        "dimensions");
}

}  // namespace
}  // namespace waggle
