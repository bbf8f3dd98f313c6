#include "common/config/experiment/experiment_plan.h"
#include "common/rl/algorithms/definitions.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::ValueOf;

EnvironmentSpec TwoAgents(SpaceLeaf second) {
  EnvironmentSpec spec;
  spec.name = "Duel-v0";
  spec.observations = {Box("a/observation", DType::kFloat32, {4}), Box("b/observation", DType::kFloat32, {3})};
  spec.actions = {Discrete("a/action", 2), std::move(second)};
  spec.rewards = {ArraySpec{"a/reward", DType::kFloat32, {}}, ArraySpec{"b/reward", DType::kFloat32, {}}};
  return spec;
}

std::string ProblemOf(const std::string& options, SpaceLeaf second = Discrete("b/action", 3)) {
  const Experiment experiment =
      ValueOf(ParseExperiment("algorithm: {name: maddpg" + options + "}\nstop: {max_seconds: 1}\n", "x.yaml", {},
                              BuiltinAlgorithmDefinitions()));
  return std::string(
      CheckAgainstEnvironment(experiment, TwoAgents(std::move(second)), BuiltinAlgorithmDefinitions()).message());
}

TEST_CASE("MADDPG's critics take the observations and actions of the agents that they see", "[unit]") {
  const Experiment experiment = ValueOf(
      ParseExperiment("algorithm: {name: maddpg, policies: 2, critics: {b: {sees: []}}}\nstop: {max_seconds: 1}\n",
                      "x.yaml", {}, BuiltinAlgorithmDefinitions()));
  const ExperimentPlan plan =
      ValueOf(PlanExperiment(experiment, TwoAgents(Discrete("b/action", 3)), BuiltinAlgorithmDefinitions()));
  REQUIRE(plan.networks.size() == 4);
  CHECK(plan.networks[0].members == 2);
  CHECK(plan.networks[1].trunks[0].encoders.size() == 3);
  CHECK(plan.networks[1].extra[0].width == 5);
  CHECK(plan.networks[3].trunks[0].encoders.size() == 2);
  CHECK(plan.networks[3].extra[0].width == 3);
  CHECK(plan.algorithm.columns.size() == 2);
  CHECK(ToYaml(ValueOf(ParseExperiment(ToYaml(experiment), "y.yaml", {}, BuiltinAlgorithmDefinitions()))) ==
        ToYaml(experiment));
}

TEST_CASE("MADDPG refuses agents of unlike actions, and critics of agents that there are not", "[unit]") {
  CHECK(ProblemOf("").empty());
  CHECK(ProblemOf("", Box("b/action", DType::kFloat32, {2}, -1, 1)) ==
        "environment.name: Duel-v0 has choices and real actions; algorithm maddpg wants one of both for all agents");
  CHECK(ProblemOf(", critics: {c: {sees: [a]}}") ==
        "algorithm.critics: got c; wanted one of a, b; did you mean \"a\"?");
  CHECK(ProblemOf(", critics: {a: {sees: [c]}}") ==
        "algorithm.critics.a.sees: got c; wanted one of a, b; did you mean \"a\"?");
  CHECK(ProblemOf(", critics: {a: {sees: [a]}}") ==
        "algorithm.critics.a.sees: got a, which its own critic sees anyway; wanted other agents");
  CHECK_THAT(ProblemOf(", share: true, critics: {a: {sees: [b]}}"),
             Catch::StartsWith("algorithm.critics: got agents that some critics see; wanted none, or share: false"));
}

}  // namespace
}  // namespace waggle
