#include "common/experiment/space_checks.h"

#include "tests/common/experiment/fake_algorithm.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

std::string Problems(const EnvironmentSpec& environment) {
  REQUIRE_OK(environment.Validate());
  const AlgorithmDefinitions algorithms = testing::FakeAlgorithms();
  const absl::Status status = CheckSpaces("fake", *testing::ValueOf(algorithms.Find("fake")), environment);
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

TEST_CASE("each thing that an algorithm cannot take is refused by its name", "[unit]") {
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
  CHECK(Problems(spec) ==
        "environment.name: CartPole-v1 gives a reward of several dimensions (reward: float32[2]); algorithm fake wants "
        "a scalar");
}

TEST_CASE("several agents are refused, and all else that does not fit with them", "[unit]") {
  EnvironmentSpec spec = testing::FakeEnvironmentSpec();
  spec.observations = {Box("a/observation", DType::kFloat32, {4}), Box("b/observation", DType::kFloat32, {4})};
  spec.actions = {Discrete("a/action", 2), Discrete("b/action", 2)};
  spec.rewards = {ArraySpec{"a/reward", DType::kFloat32, {}}, ArraySpec{"b/reward", DType::kFloat32, {}}};
  CHECK(Problems(spec) ==
        "environment.name: CartPole-v1 has 2 agents (a, b); algorithm fake wants one\n"
        "environment.name: CartPole-v1 has 2 actions (a/action, b/action); algorithm fake wants one");
}

}  // namespace
}  // namespace waggle
