#include "actor/environments/mountain_car_continuous.h"

#include "tests/actor/environments/golden_trajectories.h"
#include "tests/support/catch.h"
#include "tests/support/environment_conformance.h"

namespace waggle {
namespace {

TEST_CASE("MountainCarContinuous follows Gymnasium's recorded trajectories to 1e-6", "[unit]") {
  testing::GoldenEnds expected;
  expected.trajectories = 5;
  expected.terminated = 3;
  expected.truncated = 2;
  testing::CheckFollowsGolden<MountainCarContinuous>("mountain_car_continuous_v0.txt", expected);
}

TEST_CASE("MountainCarContinuous starts at rest, in the valley", "[unit]") {
  MountainCarContinuous environment(MountainCarContinuous::Settings(), 5);
  for (int episode = 0; episode < 2000; ++episode) {
    float observation[2] = {};
    REQUIRE_OK(testing::ResetOneLeaf(&environment, observation));
    REQUIRE(observation[0] >= -0.6F);
    REQUIRE(observation[0] <= -0.4F);
    REQUIRE(observation[1] == 0);
  }
}

TEST_CASE("MountainCarContinuous passes the conformance suite at the ends of its options' ranges", "[unit]") {
  for (const char* json :
       {"{power: 1, gravity: 0, goal_speed: 0.07}", "{power: 0, gravity: 1, max_episode_steps: 1}"}) {
    testing::CheckBuiltin("MountainCarContinuous-v0", json);
  }
}

}  // namespace
}  // namespace waggle
