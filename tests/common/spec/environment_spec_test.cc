#include "common/spec/environment_spec.h"

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

TEST_CASE("an environment without a name or leaves, or with an invalid length, is refused", "[unit]") {
  EnvironmentSpec spec = OneLeafEach();
  spec.name = "";
  RequireInvalid(spec, "environment name");
  spec = OneLeafEach();
  spec.observations.clear();
  RequireInvalid(spec, "environment CartPole-v1: has 0 observations and 1 actions; wanted at least one of each");
  spec = OneLeafEach();
  spec.actions.clear();
  RequireInvalid(spec, "has 1 observations and 0 actions");
  spec = OneLeafEach();
  for (int i = 0; i <= kMaxColumns; ++i) {
    spec.observations.push_back(Box("observation/" + std::to_string(i), DType::kFloat32, {}));
  }
  RequireInvalid(spec, "has 260 leaves; wanted at most 256");
  spec = OneLeafEach();
  spec.max_episode_steps = -1;
  RequireInvalid(spec, "max_episode_steps: -1");
}

TEST_CASE("a leaf's own error names the environment too", "[unit]") {
  EnvironmentSpec spec = OneLeafEach();
  spec.observations[0].array.shape = {-1};
  RequireInvalid(spec, "environment CartPole-v1: observation: ");
  spec = OneLeafEach();
  spec.actions[0].num_values = {0};
  RequireInvalid(spec, "environment CartPole-v1: action: int64[]: 0 choices");
}

TEST_CASE("names that are malformed, not unique or in the wrong list are refused", "[unit]") {
  EnvironmentSpec spec = OneLeafEach();
  spec.observations[0].array.name = "image";
  RequireInvalid(spec, "\"image\"; wanted [AGENT/]ROOT");
  spec = OneLeafEach();
  spec.observations[0].array.name = "action/x";
  RequireInvalid(spec, "action/x: has the root action among the observations; wanted observation or action_mask");
  spec = OneLeafEach();
  spec.actions[0].array.name = "action_mask";
  RequireInvalid(spec, "action_mask: has the root action_mask among the actions; wanted action");
  spec = OneLeafEach();
  spec.rewards[0].name = "observation/y";
  RequireInvalid(spec, "among the rewards; wanted reward");
  spec = OneLeafEach();
  spec.observations.push_back(spec.observations[0]);
  RequireInvalid(spec, "observation: two leaves have this name");
  spec = OneLeafEach();
  spec.observations.push_back(Box("observation/camera", DType::kUint8, {2}));
  RequireInvalid(spec, "observation/camera: lies below observation, which is a leaf");
}

TEST_CASE("rewards are float32 scalars or vectors, one for each agent that acts", "[unit]") {
  EnvironmentSpec spec = OneLeafEach();
  spec.rewards[0].shape = {3};
  REQUIRE_OK(spec.Validate());
  spec.rewards[0].shape = {3, 1};
  RequireInvalid(spec, "reward: float32[3, 1]: wanted float32, a scalar or a vector");
  spec.rewards[0].shape = {0};
  RequireInvalid(spec, "of at least one element");
  spec.rewards[0] = ArraySpec{"reward", DType::kFloat64, {}};
  RequireInvalid(spec, "reward: float64[]: wanted float32");
  spec.rewards[0] = ArraySpec{"reward/score", DType::kFloat32, {}};
  RequireInvalid(spec, "reward/score: has a path");
  spec.rewards.clear();
  RequireInvalid(spec, "has actions, but no reward reward");
  spec = TwoAgents();
  spec.rewards.pop_back();
  RequireInvalid(spec, "has actions, but no reward blue/reward");
  spec = TwoAgents();
  spec.rewards.push_back(ArraySpec{"green/reward", DType::kFloat32, {}});
  RequireInvalid(spec, "green/reward: a reward without an action; wanted an action green/action");
}

TEST_CASE("an agent with actions must have an observation other than a mask", "[unit]") {
  EnvironmentSpec spec = TwoAgents();
  spec.observations.erase(spec.observations.begin() + 3);
  RequireInvalid(spec, "has actions, but no observation blue/observation");
}

TEST_CASE("a mask is multi-binary, and has an action with as many choices", "[unit]") {
  EnvironmentSpec spec = OneLeafEach();
  spec.observations.push_back(MultiBinary("action_mask", {2}));
  REQUIRE_OK(spec.Validate());
  spec.observations[1] = MultiBinary("action_mask", {3});
  RequireInvalid(spec, "action_mask: bool[3]: wanted bool[2], one for each choice of action: int64[] of 2 choices");
  spec.observations[1] = MultiBinary("action_mask", {2, 1});
  RequireInvalid(spec, "wanted bool[2]");
  spec.observations[1] = Box("action_mask", DType::kFloat32, {2});
  RequireInvalid(spec, "action_mask: float32[2]: is a box leaf; wanted a multi-binary one");
  spec.observations[1] = MultiBinary("action_mask/move", {2});
  RequireInvalid(spec, "action_mask/move: bool[2]: a mask without its action; wanted an action action/move");
  spec = TwoAgents();
  spec.observations[2] = MultiBinary("red/action_mask/move", {12});
  RequireInvalid(spec, "wanted bool[7]");
  spec.observations[2] = MultiBinary("red/action_mask/turn", {1});
  RequireInvalid(spec, "its action red/action/turn: float32[1] in [-1, 1] has no choices");
}

}  // namespace
}  // namespace waggle
