#include <string>
#include <utility>
#include <vector>

#include "common/config/experiment/experiment_plan.h"
#include "common/rl/algorithms/definitions.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

SpaceLeaf Real() {
  return Box("action", DType::kFloat32, {2}, -1, 1);
}

absl::StatusOr<AlgorithmPlan> Plan(const std::string& keys, const std::vector<SpaceLeaf>& actions,
                                   const std::string& sections = "", std::vector<int64_t> reward = {}) {
  const AlgorithmDefinitions definitions = BuiltinAlgorithmDefinitions();
  const absl::StatusOr<Experiment> experiment = ParseExperiment(
      "algorithm: {name: sac" + keys + "}\nstop: {max_seconds: 1}\n" + sections, "test.yaml", {}, definitions);
  if (!experiment.ok()) {
    return experiment.status();
  }
  EnvironmentSpec environment;
  environment.name = "test";
  environment.observations = {Box("observation", DType::kFloat32, {3})};
  environment.actions = actions;
  environment.rewards[0].shape = std::move(reward);
  if (const absl::Status fits = CheckAgainstEnvironment(*experiment, environment, definitions); !fits.ok()) {
    return fits;
  }
  const absl::StatusOr<ExperimentPlan> plan = PlanExperiment(*experiment, environment, definitions);
  if (!plan.ok()) {
    return plan.status();
  }
  return plan->algorithm;
}

constexpr char kCore[] = "networks: {actor: {core: {type: lstm}}}\n";

TEST_CASE("SAC learns from sequences that show the action before if its prior is that of the same action", "[unit]") {
  const auto window = [](const std::string& keys, const std::string& sections = "") {
    return testing::ValueOf(Plan(keys, {Real()}, sections)).tables[0].window;
  };
  CHECK(window(", n_step: 3, prior: {type: uniform}").kind == WindowPlan::Kind::kNStep);
  const WindowPlan sequence = window(", n_step: 3, prior: {type: same_action}");
  CHECK(sequence.kind == WindowPlan::Kind::kSequence);
  CHECK(sequence.length == 5);
  CHECK(sequence.period == 3);
  const WindowPlan remembered = window(", sequence: 7, burn_in: 2, prior: {type: same_action}", kCore);
  CHECK(remembered.length == 10);
  CHECK(remembered.period == 7);
}

TEST_CASE("SAC's critics of real actions value each dimension of a reward, and the entropy", "[unit]") {
  const AlgorithmPlan plan = testing::ValueOf(Plan("", {Real()}, "", {3}));
  CHECK(plan.learns_vector_rewards);
  CHECK(plan.networks[1].heads.at("value").size == 4);
  // By sequences, and of choices, they value the weighted sum.
  for (const AlgorithmPlan& summed : {testing::ValueOf(Plan("", {Real()}, kCore, {3})),
                                      testing::ValueOf(Plan("", {Discrete("action", 3)}, "", {3}))}) {
    CHECK_FALSE(summed.learns_vector_rewards);
    CHECK(summed.reward_weights == std::vector<double>{1, 1, 1});
  }
}

TEST_CASE("SAC's critics give a choice beside real actions its values, and its own policy draws it", "[unit]") {
  const SpaceLeaf gear = Discrete("action/gear", 4);
  const std::vector<SpaceLeaf> mixed = {Box("action/steer", DType::kFloat32, {2}, -1, 1), gear};
  const AlgorithmPlan plan = testing::ValueOf(Plan(", temperature: 1, critics: 3", mixed));
  CHECK(plan.own_policy);
  const NetworkNeed& critic = plan.networks[1];
  CHECK(critic.acts);
  CHECK(critic.members == 3);
  CHECK_FALSE(critic.takes_action);
  REQUIRE(critic.extra.size() == 1);
  CHECK(critic.extra[0].width == 2);
  CHECK(critic.heads.at("q").size == 4);
  REQUIRE(plan.scalars.size() == 2);
  CHECK_FALSE(plan.scalars[0].acts);
  CHECK(plan.scalars[1].name == "log_choice_temperature");
  CHECK(plan.scalars[1].acts);
  CHECK(plan.tables[0].window.kind == WindowPlan::Kind::kNStep);
  CHECK(testing::ValueOf(Plan(", learn_temperature: false", mixed)).scalars.empty());
  CHECK_FALSE(testing::ValueOf(Plan("", {Real()})).own_policy);
  CHECK_FALSE(testing::ValueOf(Plan("", {Discrete("action", 4)})).own_policy);
  REQUIRE_OK(Plan("", {gear, Box("action/steer", DType::kFloat32, {}, -1, 1), Box("action/arm", DType::kFloat32, {3})})
                 .status());

  const std::vector<std::pair<std::string, std::string>> wrong = {
      {", prior: {type: uniform}",
       "algorithm.prior.type: got uniform, a density of real actions, and test takes mixed ones; wanted none"},
      {", exploration: {type: gaussian}", "algorithm.exploration.type: gaussian is for real actions"},
      {", choice_target_entropy: 0", "algorithm.choice_target_entropy: "},
      {", learn_temperature: false, choice_target_entropy: 0.5",
       "algorithm.choice_target_entropy: means nothing while learn_temperature is false"}};
  for (const auto& [keys, problem] : wrong) {
    INFO(keys);
    CHECK_THAT(std::string(Plan(keys, mixed).status().message()), Catch::Contains(problem));
  }
  CHECK_THAT(std::string(Plan("", mixed, kCore).status().message()), Catch::Contains("networks.actor.core: "));
  CHECK_THAT(std::string(Plan(", choice_target_entropy: 0.5", {Real()}).status().message()),
             Catch::Contains("algorithm.choice_target_entropy: got 0.5, for a choice beside real actions, and test "
                             "takes box ones; wanted none, or target_entropy"));
  CHECK_THAT(std::string(Plan("", {mixed[0], gear, Discrete("action/lights", 2)}).status().message()),
             Catch::Contains("algorithm sac wants one, or box ones and at most one discrete one"));
}

TEST_CASE("priors that do not fit SAC's other options or its actions are refused by the key", "[unit]") {
  struct Case {
    std::string keys;
    SpaceLeaf action;
    std::string sections;
    std::string problem;
  };
  const SpaceLeaf choice = Discrete("action", 4);
  const std::vector<Case> wrong = {
      {", prior: {type: uniform}", choice, "",
       "algorithm.prior.type: got uniform, a density of real actions, and test takes discrete ones; wanted none"},
      {", prior: {type: normal}", Real(), "",
       "algorithm.prior.type: got \"normal\"; wanted one of none, uniform, truncated_normal, same_action"},
      {", prior: {deviation: 1}", Real(), "", "algorithm.prior.deviation: means nothing to the type none; wanted none"},
      {", prior: {type: truncated_normal, same_action_noise: 0.1}", Real(), "",
       "algorithm.prior.same_action_noise: means nothing to the type truncated_normal; wanted none, or the type "
       "same_action"},
      {", prior: {type: same_action, same_action_probability: 1.5}", Real(), "",
       "algorithm.prior.same_action_probability: "},
      {", prior: {type: same_action, same_action_noise: 0}", Real(), "", "algorithm.prior.same_action_noise: "},
      {", prior: {type: truncated_normal, deviation: 0}", Real(), "", "algorithm.prior.deviation: "},
      {", prior: {type: uniform}, target_entropy: -1", Real(), "",
       "algorithm.target_entropy: got -1 beside a prior; wanted none, or target_divergence"},
      {", target_divergence: 1", Real(), "", "algorithm.target_divergence: means nothing without a prior"},
      {", prior: {type: uniform}, learn_temperature: false, target_divergence: 1", Real(), "",
       "algorithm.target_divergence: means nothing without a prior and a learned temperature"},
      {", prior: {type: uniform}, target_divergence: -1", Real(), "", "algorithm.target_divergence: "},
      {", burn_in: 0, prior: {type: same_action}", Real(), kCore, "algorithm.burn_in: got 0; wanted at least 1"}};
  for (const Case& one : wrong) {
    INFO(one.keys);
    const absl::Status status = Plan(one.keys, {one.action}, one.sections).status();
    REQUIRE_CODE(status, absl::StatusCode::kInvalidArgument);
    CHECK_THAT(std::string(status.message()), Catch::Contains(one.problem));
  }
  REQUIRE_OK(Plan(", burn_in: 0, prior: {type: same_action}", {Real()}).status());
}

}  // namespace
}  // namespace waggle
