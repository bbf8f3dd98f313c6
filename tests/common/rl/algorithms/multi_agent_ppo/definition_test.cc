#include "common/config/experiment/experiment_plan.h"
#include "common/rl/algorithms/definitions.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::ValueOf;

EnvironmentSpec TwoAgents(int64_t features_of_second) {
  EnvironmentSpec spec;
  spec.name = "Duel-v0";
  spec.observations = {Box("a/observation", DType::kFloat32, {4}),
                       Box("b/observation", DType::kFloat32, {features_of_second})};
  spec.actions = {Discrete("a/action", 2), Discrete("b/action", 2)};
  spec.rewards = {ArraySpec{"a/reward", DType::kFloat32, {}}, ArraySpec{"b/reward", DType::kFloat32, {}}};
  return spec;
}

absl::StatusOr<ExperimentPlan> PlanOf(const std::string& algorithm, const std::string& networks,
                                      int64_t features_of_second = 4) {
  const Experiment experiment =
      ValueOf(ParseExperiment("algorithm: {" + algorithm + "}\nnetworks: " + networks + "\nstop: {max_seconds: 1}\n",
                              "x.yaml", {}, BuiltinAlgorithmDefinitions()));
  const EnvironmentSpec environment = TwoAgents(features_of_second);
  const absl::Status checked = CheckAgainstEnvironment(experiment, environment, BuiltinAlgorithmDefinitions());
  return checked.ok() ? PlanExperiment(experiment, environment, BuiltinAlgorithmDefinitions()) : checked;
}

std::string ProblemOf(const std::string& algorithm, const std::string& networks, int64_t features_of_second = 4) {
  return std::string(PlanOf(algorithm, networks, features_of_second).status().message());
}

TEST_CASE("agents have a network each of one description, or one if they share", "[unit]") {
  const ExperimentPlan apart = ValueOf(PlanOf("name: ippo", "{actor_critic: {torso: [{units: [7]}]}}", 3));
  REQUIRE(apart.networks.size() == 2);
  CHECK(apart.networks[0].name == "actor_critic_a");
  CHECK(apart.networks[0].parameters[0].DebugString() == "torso.0.linear1.weight: float32[7, 4]");
  CHECK(apart.networks[1].name == "actor_critic_b");
  CHECK(apart.networks[1].parameters[0].DebugString() == "torso.0.linear1.weight: float32[7, 3]");
  const ExperimentPlan shared = ValueOf(PlanOf("name: ippo, share: true", "{}"));
  REQUIRE(shared.networks.size() == 1);
  CHECK(shared.networks[0].name == "actor_critic");
  CHECK(shared.algorithm.columns.size() == 2);
  CHECK(shared.algorithm.columns[1].name == "b/log_prob");
}

TEST_CASE("an agent's network may have a description of its own", "[unit]") {
  const ExperimentPlan plan = ValueOf(PlanOf("name: ippo", "{actor_critic_b: {torso: [{units: [9]}]}}"));
  CHECK(plan.networks[0].parameters[0].shape == std::vector<int64_t>{64, 4});
  CHECK(plan.networks[1].parameters[0].shape == std::vector<int64_t>{9, 4});
  CHECK_THAT(ProblemOf("name: ippo", "{actor_critic_c: {}}"),
             Catch::StartsWith("networks.actor_critic_c: algorithm ippo has no such network"));
}

TEST_CASE("a mistake in the description of all agents' networks is told once, at its key", "[unit]") {
  CHECK(ProblemOf("name: ippo", "{actor_critic: {torso: [{type: conv}]}}") ==
        ProblemOf("name: ippo, share: true", "{actor_critic: {torso: [{type: conv}]}}"));
  CHECK_THAT(ProblemOf("name: ippo", "{actor_critic: {torso: [{type: conv}]}}"),
             Catch::StartsWith("networks.actor_critic.torso[0]: "));
}

TEST_CASE("MAPPO's actors see their own observation, and its critics those of all, the own one first", "[unit]") {
  const ExperimentPlan plan = ValueOf(PlanOf("name: mappo", "{}", 3));
  REQUIRE(plan.networks.size() == 4);
  CHECK(plan.networks[3].name == "critic_b");
  REQUIRE(plan.networks[2].trunks[0].encoders.size() == 1);
  REQUIRE(plan.networks[3].trunks[0].encoders.size() == 2);
  CHECK(plan.networks[3].trunks[0].encoders[0].array.DebugString() == "observation: float32[3]");
  CHECK(plan.networks[3].trunks[0].encoders[1].array.DebugString() == "a/observation: float32[4]");
  CHECK(plan.acting().size() == 2);
}

TEST_CASE("agents that cannot share, stages of several policies and cores are refused with a sentence", "[unit]") {
  CHECK(
      ProblemOf("name: ippo, share: true", "{}", 3) ==
      "algorithm.share: got true, and the spaces of a and b differ: Duel-v0 (observation: float32[4], action: int64[] "
      "of 2 choices), Duel-v0 (observation: float32[3], action: int64[] of 2 choices); wanted false, or agents of "
      "equal spaces");
  CHECK(ProblemOf("name: ippo, entropy: {rule: stages}", "{}") ==
        "algorithm.entropy.rule: got stages, which follows one policy, and 2 agents learn one each; wanted gradient");
  CHECK_THAT(ProblemOf("name: mappo, share: true", "{critic: {core: {type: lstm}}}"),
             Catch::StartsWith("networks.critic.core: "));
  CHECK_THAT(ProblemOf("name: ppo", "{}"),
             Catch::StartsWith("environment.name: Duel-v0 has 2 agents (a, b); algorithm ppo wants one"));
}

}  // namespace
}  // namespace waggle
