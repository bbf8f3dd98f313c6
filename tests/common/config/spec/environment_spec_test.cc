#include "common/config/spec/environment_spec.h"

#include <functional>
#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace waggle {
namespace {

EnvironmentSpec OneLeafEach() {
  EnvironmentSpec spec;
  spec.name = "CartPole-v1";
  spec.observations = {Box("observation", DType::kFloat32, {4})};
  spec.actions = {Discrete("action", 2)};
  spec.max_episode_steps = 500;
  return spec;
}

// Two agents with a camera and a mask each, and a state that belongs to neither.
EnvironmentSpec TwoAgents() {
  EnvironmentSpec spec;
  spec.name = "Soccer";
  spec.observations = {Box("observation/state", DType::kFloat32, {9})};
  spec.rewards.clear();
  for (const std::string agent : {"red", "blue"}) {
    spec.observations.push_back(Box(agent + "/observation/camera", DType::kUint8, {8, 8}, 0, 255));
    spec.observations.push_back(MultiBinary(agent + "/action_mask/move", {7}));
    spec.actions.push_back(MultiDiscrete(agent + "/action/move", {3, 4}));
    spec.actions.push_back(Box(agent + "/action/turn", DType::kFloat32, {1}, -1, 1));
    spec.rewards.push_back(ArraySpec{agent + "/reward", DType::kFloat32, {2}});
  }
  return spec;
}

void RequireInvalid(const EnvironmentSpec& spec, const std::string& words) {
  const absl::Status status = spec.Validate();
  REQUIRE_CODE(status, absl::StatusCode::kInvalidArgument);
  CHECK_THAT(std::string(status.message()), Catch::Contains(words));
}

TEST_CASE("a sound environment spec is valid and describes itself in one line", "[unit]") {
  REQUIRE_OK(OneLeafEach().Validate());
  CHECK(OneLeafEach().DebugString() ==
        "CartPole-v1 (observation: float32[4], action: int64[] of 2 choices, at most 500 steps an episode)");
  REQUIRE_OK(TwoAgents().Validate());
  CHECK_THAT(
      TwoAgents().DebugString(),
      Catch::Contains("blue/action/turn: float32[1] in [-1, 1], red/reward: float32[2], blue/reward: float32[2])"));
}

TEST_CASE("agents, masks and the arrays of leaves are found", "[unit]") {
  CHECK(AgentsOf(OneLeafEach()) == std::vector<std::string>{""});
  const EnvironmentSpec spec = TwoAgents();
  CHECK(AgentsOf(spec) == std::vector<std::string>{"red", "blue"});
  CHECK_FALSE(IsActionMask(spec.observations[1]));
  CHECK(IsActionMask(spec.observations[4]));
  CHECK(FindActionOfMask(spec, spec.observations[4]) == &spec.actions[2]);
  CHECK(FindMaskOfAction(spec, spec.actions[0]) == &spec.observations[2]);
  CHECK(FindMaskOfAction(spec, spec.actions[3]) == nullptr);
  CHECK(DebugString(ArraysOf(OneLeafEach().observations)) == "[observation: float32[4]]");
  CHECK(NumRewards(spec.rewards) == 4);
  CHECK(NumRewards(OneLeafEach().rewards) == 1);
}

TEST_CASE("an environment that breaks a rule is refused", "[unit]") {
  struct Case {
    const char* words;
    std::function<void(EnvironmentSpec*)> change;
  };
  const Case cases[] = {
      {"environment name", [](auto* spec) { spec->name = ""; }},
      {"has 0 observations and 1 actions", [](auto* spec) { spec->observations.clear(); }},
      {"has 1 observations and 0 actions", [](auto* spec) { spec->actions.clear(); }},
      {"has 260 leaves",
       [](auto* spec) {
         for (int i = 0; i <= kMaxColumns; ++i) {
           spec->observations.push_back(Box("observation/" + std::to_string(i), DType::kFloat32, {}));
         }
       }},
      {"max_episode_steps: -1", [](auto* spec) { spec->max_episode_steps = -1; }},
      {"environment CartPole-v1: observation: ", [](auto* spec) { spec->observations[0].array.shape = {-1}; }},
      {"environment CartPole-v1: action: ", [](auto* spec) { spec->actions[0].num_values = {0}; }},
      {"\"image\"", [](auto* spec) { spec->observations[0].array.name = "image"; }},
      {"action/x: has the root action", [](auto* spec) { spec->observations[0].array.name = "action/x"; }},
      {"action_mask: has the root", [](auto* spec) { spec->actions[0].array.name = "action_mask"; }},
      {"observation/y: has the root", [](auto* spec) { spec->rewards[0].name = "observation/y"; }},
      {"observation: two leaves", [](auto* spec) { spec->observations.push_back(spec->observations[0]); }},
      {"observation/camera: lies below observation",
       [](auto* spec) { spec->observations.push_back(Box("observation/camera", DType::kUint8, {2})); }},
      {"reward: float32[3, 1]",
       [](auto* spec) {
         spec->rewards[0].shape = {3, 1};
       }},
      {"of at least one element", [](auto* spec) { spec->rewards[0].shape = {0}; }},
      {"reward: float64[]", [](auto* spec) { spec->rewards[0].dtype = DType::kFloat64; }},
      {"reward/score: has a path", [](auto* spec) { spec->rewards[0].name = "reward/score"; }},
      {"has actions, but no reward reward", [](auto* spec) { spec->rewards.clear(); }},
      {"action_mask: bool[3]", [](auto* spec) { spec->observations.push_back(MultiBinary("action_mask", {3})); }},
      {"action_mask: bool[2, 1]",
       [](auto* spec) {
         spec->observations.push_back(MultiBinary("action_mask", {2, 1}));
       }},
      {"action_mask: float32[2]: is a box leaf",
       [](auto* spec) { spec->observations.push_back(Box("action_mask", DType::kFloat32, {2})); }},
      {"action_mask/move: bool[2]: a mask without its action",
       [](auto* spec) { spec->observations.push_back(MultiBinary("action_mask/move", {2})); }},
  };
  for (const Case& one : cases) {
    EnvironmentSpec spec = OneLeafEach();
    one.change(&spec);
    RequireInvalid(spec, one.words);
  }
  const Case of_two_agents[] = {
      {"has actions, but no reward blue/reward", [](auto* spec) { spec->rewards.pop_back(); }},
      {"green/reward: a reward without an action",
       [](auto* spec) {
         spec->rewards.push_back(ArraySpec{"green/reward", DType::kFloat32, {}});
       }},
      {"has actions, but no observation blue/observation",
       [](auto* spec) { spec->observations.erase(spec->observations.begin() + 3); }},
      {"red/action_mask/move: bool[12]",
       [](auto* spec) { spec->observations[2] = MultiBinary("red/action_mask/move", {12}); }},
      {"red/action_mask/turn: bool[1]",
       [](auto* spec) { spec->observations[2] = MultiBinary("red/action_mask/turn", {1}); }},
  };
  for (const Case& one : of_two_agents) {
    EnvironmentSpec spec = TwoAgents();
    one.change(&spec);
    RequireInvalid(spec, one.words);
  }
  EnvironmentSpec valid = OneLeafEach();
  valid.rewards[0].shape = {3};
  valid.observations.push_back(MultiBinary("action_mask", {2}));
  REQUIRE_OK(valid.Validate());
}

}  // namespace
}  // namespace waggle
