#include <string>
#include <utility>
#include <vector>

#include "common/config/experiment/experiment_plan.h"
#include "common/rl/algorithms/definitions.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

// The plan of an algorithm in an environment with this action.
absl::StatusOr<AlgorithmPlan> Plan(const std::string& algorithm, const SpaceLeaf& action) {
  const AlgorithmDefinitions definitions = BuiltinAlgorithmDefinitions();
  const absl::StatusOr<Experiment> experiment =
      ParseExperiment("algorithm: {" + algorithm + "}\nstop: {max_seconds: 1}\n", "test.yaml", {}, definitions);
  if (!experiment.ok()) {
    return experiment.status();
  }
  EnvironmentSpec environment;
  environment.name = "test";
  environment.observations = {Box("observation", DType::kFloat32, {3})};
  environment.actions = {action};
  const absl::StatusOr<ExperimentPlan> plan = PlanExperiment(*experiment, environment, definitions);
  if (!plan.ok()) {
    return plan.status();
  }
  return plan->algorithm;
}

TEST_CASE("DDPG's critics value each choice, and its own policy draws choices without noise", "[unit]") {
  for (const char* const name : {"ddpg", "hddpg"}) {
    const std::string algorithm = std::string("name: ") + name;
    const AlgorithmPlan choice = testing::ValueOf(Plan(algorithm, Discrete("action", 4)));
    CHECK(choice.own_policy);
    CHECK(choice.exploration.type == "none");
    CHECK(choice.exploration.warm_up_steps == 1'000);
    CHECK(choice.networks[1].heads.at("value").kind == HeadKind::kVector);
    CHECK(choice.networks[1].heads.at("value").size == 4);
    CHECK_FALSE(choice.networks[1].takes_action);
    const AlgorithmPlan real = testing::ValueOf(Plan(algorithm, Box("action", DType::kFloat32, {2}, -1, 1)));
    CHECK_FALSE(real.own_policy);
    CHECK(real.exploration.type == "ornstein_uhlenbeck");
    CHECK(real.exploration.sigma == Schedule(0.2));
    CHECK(real.exploration.time_step == 1);
    CHECK(real.networks[1].takes_action);
  }
}

TEST_CASE("options of deterministic actor-critics that fit nothing are refused", "[unit]") {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"name: ddpg, best_probability: 0.2",
       "algorithm.best_probability: got 0.2; wanted at least the share of one of 4 choices"},
      {"name: ddpg, initial_priority: td_error",
       "algorithm.initial_priority: got td_error; wanted highest, or replay.sampler.kind: prioritized"},
      {"name: ddpg, exploration: {type: gaussian}", "algorithm.exploration.type: gaussian is for real actions"},
      {"name: ddpg, exploration: {type: ornstein_uhlenbeck}",
       "algorithm.exploration.type: ornstein_uhlenbeck is for real actions, and test takes discrete ones; wanted none"},
      {"name: hddpg, exploration: {sigma: 0.1}",
       "exploration.sigma: means nothing to the exploration by_action; wanted none, or the type gaussian or"},
      {"name: td3, exploration: {type: by_action}", "exploration.type: got \"by_action\"; wanted one of none"},
      {"name: ddpg, action_penalty: -1", "action_penalty: got the number -1; wanted "},
      {"name: ddpg, exploration: {type: parameter_noise}", "algorithm.exploration.type: parameter_noise"},
      {"name: d4pg, low: 5, high: 5", "low: got 5; wanted less than high, 5"}};
  for (const auto& [algorithm, problem] : wrong) {
    INFO(algorithm);
    const absl::Status status = Plan(algorithm, Discrete("action", 4)).status();
    REQUIRE_CODE(status, absl::StatusCode::kInvalidArgument);
    CHECK_THAT(std::string(status.message()), Catch::Contains(problem));
  }
}

}  // namespace
}  // namespace waggle
