#include "common/config/experiment/space_checks.h"

#include <string>
#include <vector>

#include "tests/common/config/experiment/fake_algorithm.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

std::string Problems(const EnvironmentSpec& environment, const std::vector<SpaceKind>& kinds = {SpaceKind::kDiscrete},
                     bool takes_choice_beside_reals = false, bool takes_agents = false) {
  REQUIRE_OK(environment.Validate());
  const AlgorithmDefinitions algorithms = testing::FakeAlgorithms();
  AlgorithmDefinition definition = *testing::ValueOf(algorithms.Find("fake"));
  definition.action_kinds = kinds;
  definition.takes_choice_beside_reals = takes_choice_beside_reals;
  definition.takes_agents = takes_agents;
  const absl::Status status = CheckSpaces("fake", definition, environment);
  CHECK((status.ok() || status.code() == absl::StatusCode::kInvalidArgument));
  return std::string(status.message());
}

TEST_CASE("one observation, one action of the algorithm's kind and a scalar reward can be learned", "[unit]") {
  CHECK(Problems(testing::FakeEnvironmentSpec()).empty());
  EnvironmentSpec named = testing::FakeEnvironmentSpec();
  named.observations[0].array.name = "agent_0/observation/state";
  named.actions[0].array.name = "agent_0/action/push";
  named.rewards[0].name = "agent_0/reward";
  CHECK(Problems(named).empty());
}

TEST_CASE("each part of an environment that an algorithm cannot take is named", "[unit]") {
  EnvironmentSpec spec = testing::FakeEnvironmentSpec();
  // Any observations, with masks, are taken.
  spec.observations = {Box("observation/camera", DType::kUint8, {4}), Box("observation/speed", DType::kFloat32, {2}),
                       MultiBinary("action_mask", {2})};
  CHECK(Problems(spec).empty());
  spec = testing::FakeEnvironmentSpec();
  spec.actions = {Discrete("action/move", 2), Discrete("action/jump", 2)};
  CHECK(Problems(spec) ==
        "environment.name: CartPole-v1 has 2 actions (action/move, action/jump); algorithm fake wants one");
  spec.actions = {MultiDiscrete("action", {2, 3})};
  CHECK(Problems(spec) ==
        "environment.name: CartPole-v1 takes multi-discrete actions (action: int64[2] of 2, 3 choices); algorithm fake "
        "wants discrete ones");
  spec = testing::FakeEnvironmentSpec();
  spec.rewards[0].shape = {2};
  CHECK(Problems(spec).empty());
}

TEST_CASE("several actions are for algorithms whose choices are independent, or whose actions are all real", "[unit]") {
  const std::vector<SpaceKind> choosing = {SpaceKind::kDiscrete, SpaceKind::kMultiDiscrete};
  const std::vector<SpaceKind> real = {SpaceKind::kBox, SpaceKind::kDiscrete};
  const std::vector<SpaceKind> all = {SpaceKind::kDiscrete, SpaceKind::kMultiDiscrete, SpaceKind::kBox};
  EnvironmentSpec spec = testing::FakeEnvironmentSpec();
  spec.actions = {Discrete("action/move", 2), MultiBinary("action/press", {3}), MultiDiscrete("action/aim", {4, 5})};
  CHECK(Problems(spec, choosing).empty());
  CHECK(Problems(spec, all).empty());
  spec.actions = {MultiBinary("action", {3})};
  CHECK(Problems(spec, choosing).empty());
  CHECK(Problems(spec, real) ==
        "environment.name: CartPole-v1 takes multi-binary actions (action: bool[3]); algorithm fake wants box or "
        "discrete ones");
  spec.actions = {Box("action/a", DType::kFloat32, {}), Box("action/b", DType::kFloat32, {2, 2})};
  CHECK(Problems(spec, real).empty());
  CHECK(Problems(spec, all).empty());
  CHECK(Problems(spec, choosing) ==
        "environment.name: CartPole-v1 takes box actions (action/a: float32[]); algorithm fake wants discrete or "
        "multi-discrete ones\n"
        "environment.name: CartPole-v1 takes box actions (action/b: float32[2, 2]); algorithm fake wants discrete or "
        "multi-discrete ones");
  spec.actions = {Box("action/a", DType::kFloat32, {}), Discrete("action/b", 3)};
  CHECK(Problems(spec, all).empty());
  CHECK(
      Problems(spec, real) ==
      "environment.name: CartPole-v1 has 2 actions (action/a, action/b); algorithm fake wants one, or box ones alone");
  spec.actions = {Box("action/a", DType::kFloat32, {}), Box("action/b", DType::kFloat64, {})};
  CHECK(Problems(spec, all) ==
        "environment.name: CartPole-v1 takes action/b: float64[]; algorithm fake wants float32 where actions are real");
}

TEST_CASE("one choice beside real actions is for algorithms that take it, and no second one", "[unit]") {
  const std::vector<SpaceKind> kinds = {SpaceKind::kBox, SpaceKind::kDiscrete};
  EnvironmentSpec spec = testing::FakeEnvironmentSpec();
  const SpaceLeaf real = Box("action/a", DType::kFloat32, {});
  const SpaceLeaf another = Box("action/c", DType::kFloat32, {2});
  const SpaceLeaf choice = Discrete("action/b", 3);
  for (const std::vector<SpaceLeaf>& actions :
       {std::vector<SpaceLeaf>{choice}, {real}, {real, choice}, {choice, real}, {real, choice, another}}) {
    spec.actions = actions;
    CHECK(Problems(spec, kinds, true).empty());
  }
  spec.actions = {real, choice, Discrete("action/d", 2)};
  CHECK(Problems(spec, kinds, true) ==
        "environment.name: CartPole-v1 has 3 actions (action/a, action/b, action/d); algorithm fake wants one, or box "
        "ones and at most one discrete one");
  spec.actions = {choice, Discrete("action/d", 2)};
  CHECK_FALSE(Problems(spec, kinds, true).empty());
  spec.actions = {real, MultiDiscrete("action/b", {3})};
  CHECK_FALSE(Problems(spec, kinds, true).empty());
}

TEST_CASE("several agents are refused together with all other misfits", "[unit]") {
  EnvironmentSpec spec = testing::FakeEnvironmentSpec();
  spec.observations = {Box("a/observation", DType::kFloat32, {4}), Box("b/observation", DType::kFloat32, {4})};
  spec.actions = {Discrete("a/action", 2), Discrete("b/action", 2)};
  spec.rewards = {ArraySpec{"a/reward", DType::kFloat32, {}}, ArraySpec{"b/reward", DType::kFloat32, {}}};
  CHECK(Problems(spec) ==
        "environment.name: CartPole-v1 has 2 agents (a, b); algorithm fake wants one\n"
        "environment.name: CartPole-v1 has 2 actions (a/action, b/action); algorithm fake wants one");
}

TEST_CASE("an algorithm that takes several agents must be able to take the actions of each", "[unit]") {
  EnvironmentSpec spec = testing::FakeEnvironmentSpec();
  spec.observations = {Box("a/observation", DType::kFloat32, {4}), Box("b/observation", DType::kFloat32, {4})};
  spec.rewards = {ArraySpec{"a/reward", DType::kFloat32, {}}, ArraySpec{"b/reward", DType::kFloat32, {}}};
  spec.actions = {Discrete("a/action", 2), Discrete("b/action", 3)};
  CHECK(Problems(spec, {SpaceKind::kDiscrete}, false, /*takes_agents=*/true).empty());
  spec.actions = {Discrete("a/action", 2), Box("b/action", DType::kFloat32, {2})};
  CHECK(Problems(spec, {SpaceKind::kDiscrete}, false, /*takes_agents=*/true) ==
        "environment.name: CartPole-v1 takes box actions (b/action: float32[2]); algorithm fake wants discrete ones");
  spec.actions = {Discrete("a/action", 2), Discrete("b/action/move", 2), Discrete("b/action/jump", 2)};
  CHECK(Problems(spec, {SpaceKind::kDiscrete}, false, /*takes_agents=*/true) ==
        "environment.name: CartPole-v1 has 2 actions (b/action/move, b/action/jump); algorithm fake wants one");
}

}  // namespace
}  // namespace waggle
