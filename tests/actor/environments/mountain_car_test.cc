#include "actor/environments/mountain_car.h"

#include "tests/actor/environments/golden_trajectories.h"
#include "tests/support/catch.h"
#include "tests/support/environment_conformance.h"

namespace waggle {
namespace {

TEST_CASE("MountainCar follows Gymnasium's recorded trajectories to 1e-6", "[unit]") {
  testing::GoldenEnds expected;
  expected.trajectories = 5;
  expected.terminated = 3;
  expected.truncated = 2;
  testing::CheckFollowsGolden<MountainCar>("mountain_car_v0.txt", expected);
}

TEST_CASE("MountainCar starts at rest, uniformly in the valley", "[unit]") {
  MountainCar environment(MountainCar::Settings(), 5);
  constexpr int kEpisodes = 2000;
  int below_the_middle = 0;
  for (int episode = 0; episode < kEpisodes; ++episode) {
    float observation[2] = {};
    REQUIRE_OK(testing::ResetOneLeaf(&environment, observation));
    REQUIRE(observation[0] >= -0.6F);
    REQUIRE(observation[0] <= -0.4F);
    REQUIRE(observation[1] == 0);
    below_the_middle += observation[0] < -0.5F ? 1 : 0;
  }
  REQUIRE(below_the_middle > 1000 - 6 * 23);  // Six standard deviations.
  REQUIRE(below_the_middle < 1000 + 6 * 23);
}

TEST_CASE("MountainCar passes the conformance suite at the ends of its options' ranges", "[unit]") {
  for (const char* json :
       {"{force: 1, gravity: 0, goal_speed: 0.07}", "{force: 0, gravity: 1, max_episode_steps: 1}"}) {
    testing::CheckBuiltin("MountainCar-v0", json);
  }
}

}  // namespace
}  // namespace waggle
