#include "common/spec/environment_spec.h"

#include <cmath>
#include <limits>

#include "tests/support/catch.h"

namespace waggle {
namespace {

EnvironmentSpec Discrete() {
  EnvironmentSpec spec;
  spec.name = "CartPole-v1";
  spec.observation = ArraySpec{"observation", DType::kFloat32, {4}};
  spec.action.num_values = 2;
  spec.max_episode_steps = 500;
  return spec;
}

EnvironmentSpec Continuous() {
  EnvironmentSpec spec = Discrete();
  spec.action.kind = ActionSpec::Kind::kContinuous;
  spec.action.num_values = 0;
  spec.action.low = {-1, -2};
  spec.action.high = {1, 2};
  return spec;
}

void RequireInvalid(const EnvironmentSpec& spec, const std::string& words) {
  const absl::Status status = spec.Validate();
  REQUIRE_CODE(status, absl::StatusCode::kInvalidArgument);
  REQUIRE_THAT(std::string(status.message()), Catch::Contains(words));
}

TEST_CASE("a discrete action is one int64, a continuous one a float32 vector", "[unit]") {
  REQUIRE(Discrete().action.Array() == ArraySpec{"action", DType::kInt64, {}});
  REQUIRE(Continuous().action.Array() == ArraySpec{"action", DType::kFloat32, {2}});
}

TEST_CASE("a sound environment spec is valid and says what it is in one line", "[unit]") {
  REQUIRE_OK(Discrete().Validate());
  REQUIRE(Discrete().DebugString() ==
          "CartPole-v1 (observation: float32[4], action: int64[] of 2 choices, at most 500 steps an episode)");
  EnvironmentSpec continuous = Continuous();
  continuous.max_episode_steps = 0;
  REQUIRE_OK(continuous.Validate());
  REQUIRE(continuous.DebugString() ==
          "CartPole-v1 (observation: float32[4], action: float32[2] in [-1, -2] to [1, 2])");
}

TEST_CASE("an unbounded continuous action is valid", "[unit]") {
  EnvironmentSpec spec = Continuous();
  spec.action.low[0] = -std::numeric_limits<float>::infinity();
  spec.action.high[0] = std::numeric_limits<float>::infinity();
  REQUIRE_OK(spec.Validate());
}

TEST_CASE("an environment spec with a bad name or observation is refused", "[unit]") {
  EnvironmentSpec spec = Discrete();
  spec.name = "";
  RequireInvalid(spec, "environment name");
  spec = Discrete();
  spec.observation.name = "image";
  RequireInvalid(spec, "\"image\"; wanted \"observation\"");
  spec = Discrete();
  spec.observation.shape = {-1};
  RequireInvalid(spec, "CartPole-v1");
  spec = Discrete();
  spec.observation.shape = {4, 0};
  RequireInvalid(spec, "empty");
}

TEST_CASE("an environment spec whose action cannot be is refused", "[unit]") {
  EnvironmentSpec spec = Discrete();
  spec.action.num_values = 0;
  RequireInvalid(spec, "0 choices");
  spec = Discrete();
  spec.action.low = {0};
  RequireInvalid(spec, "no bounds");
  spec = Continuous();
  spec.action.num_values = 2;
  RequireInvalid(spec, "no choices; got 2");
  spec = Continuous();
  spec.action.high.pop_back();
  RequireInvalid(spec, "got 2 and 1");
  spec = Continuous();
  spec.action.low.clear();
  spec.action.high.clear();
  RequireInvalid(spec, "at least 1 dimension");
  spec = Continuous();
  spec.action.high[1] = std::nanf("");
  RequireInvalid(spec, "bounds of dimension 1");
  spec = Continuous();
  spec.action.low[0] = 1;
  RequireInvalid(spec, "wanted low < high");
  spec = Discrete();
  spec.action.kind = static_cast<ActionSpec::Kind>(7);
  RequireInvalid(spec, "7 is no kind");
}

TEST_CASE("a negative episode length is refused", "[unit]") {
  EnvironmentSpec spec = Discrete();
  spec.max_episode_steps = -1;
  RequireInvalid(spec, "max_episode_steps: -1");
}

}  // namespace
}  // namespace waggle
