#include "actor/environments/builtin/null_environment.h"

#include <array>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/conformance/environment_conformance.h"
#include "tests/support/one_leaf.h"

namespace waggle {
namespace {

TEST_CASE("the null environment passes the conformance suite with spaces of every kind", "[unit]") {
  EnvironmentOptions options;
  options.name = kNullEnvironment;
  options.spec.observations = {
      {"observation/frame", SpaceKind::kBox, "int8", {3}, -7, 5, {}},
      {"observation/double", SpaceKind::kBox, "float64", {2}, {}, {}, {}},
      {"observation/lamps", SpaceKind::kMultiBinary, "", {4}, {}, {}, {}},
      {"observation/gear", SpaceKind::kDiscrete, "", {}, {}, {}, {5}},
      {"action_mask/move", SpaceKind::kMultiBinary, "", {5}, {}, {}, {}},
  };
  options.spec.actions = {
      {"action/move", SpaceKind::kMultiDiscrete, "", {}, {}, {}, {2, 3}},
      {"action/steer", SpaceKind::kBox, "float32", {2}, -2, 2, {}},
      {"action/lamps", SpaceKind::kMultiBinary, "", {2}, {}, {}, {}},
  };
  options.spec.rewards[0].shape = {3};
  options.spec.max_episode_steps = 7;
  testing::CheckEnvironment(kNullEnvironment, NullEnvironment::Definition(), options);
}

TEST_CASE("an episode of the null environment is truncated at its length, without a reward", "[unit]") {
  SpecOptions options;
  options.observations = {{"observation", SpaceKind::kBox, "float32", {2}, {}, {}, {}}};
  options.max_episode_steps = 3;
  NullEnvironment environment(options.Spec(), 5);
  std::array<float, 2> first{};
  REQUIRE_OK(testing::ResetOneLeaf(&environment, first.data()));
  const int64_t action = 5;
  for (const bool last : {false, false, true}) {
    std::array<float, 2> observation{};
    const testing::OneLeafOutcome outcome =
        testing::ValueOf(testing::StepOneLeaf(&environment, &action, observation.data()));
    CHECK(observation == first);
    CHECK(outcome.reward == 0);
    CHECK_FALSE(outcome.terminated);
    CHECK(outcome.truncated == last);
  }
}

}  // namespace
}  // namespace waggle
