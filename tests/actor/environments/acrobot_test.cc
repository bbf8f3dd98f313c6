#include "actor/environments/acrobot.h"

#include <algorithm>
#include <cmath>

#include "tests/actor/environments/golden_trajectories.h"
#include "tests/support/catch.h"
#include "tests/support/environment_conformance.h"

namespace waggle {
namespace {

TEST_CASE("Acrobot follows Gymnasium's recorded trajectories to 1e-6", "[unit]") {
  testing::GoldenEnds expected;
  expected.trajectories = 4;
  expected.terminated = 2;
  expected.truncated = 2;
  testing::CheckFollowsGolden<Acrobot>("acrobot_v1.txt", expected);
}

TEST_CASE("Acrobot hangs nearly still at first", "[unit]") {
  Acrobot environment(Acrobot::Settings(), 5);
  double farthest = 0;
  for (int episode = 0; episode < 2000; ++episode) {
    float observation[6] = {};
    REQUIRE_OK(testing::ResetOneLeaf(&environment, observation));
    for (const int i : {1, 3, 4, 5}) {  // The sines of small angles, and the speeds.
      farthest = std::max(farthest, std::abs(static_cast<double>(observation[i])));
    }
  }
  REQUIRE(farthest <= 0.1 + 1e-7);
  REQUIRE(farthest > 0.0999);
}

// The outer link's speed after one step from hanging still.
float SpeedAfter(Acrobot* environment, int64_t action) {
  float observation[6] = {};
  environment->ResetTo({}, observation);
  REQUIRE_OK(testing::StepOneLeaf(environment, &action, observation));
  return observation[5];
}

TEST_CASE("Acrobot's torque deviates by up to its noise", "[unit]") {
  Acrobot::Settings noisy;
  noisy.torque_noise = 0.5;
  Acrobot environment(noisy, 5);
  Acrobot exact(Acrobot::Settings(), 5);
  const int64_t no_torque = 1;
  const int64_t full_torque = 2;
  REQUIRE(std::abs(SpeedAfter(&exact, no_torque)) < 1e-6F);
  // Near rest, speed is proportional to torque.
  const float half_speed = SpeedAfter(&exact, full_torque) / 2;
  float least = 0;
  float most = 0;
  for (int i = 0; i < 500; ++i) {
    const float speed = SpeedAfter(&environment, no_torque);
    least = std::min(least, speed);
    most = std::max(most, speed);
  }
  REQUIRE(most <= 1.01F * half_speed);
  REQUIRE(most >= 0.95F * half_speed);
  REQUIRE(least >= -1.01F * half_speed);
  REQUIRE(least <= -0.95F * half_speed);
}

TEST_CASE("Acrobot passes the conformance suite at the ends of its options' ranges", "[unit]") {
  for (const char* json : {"{dynamics: nips, gravity: 100, torque_noise: 10, max_episode_steps: 50}",
                           "{gravity: 0, torque_noise: 10, time_step: 0.001, max_episode_steps: 50}"}) {
    testing::CheckBuiltin("Acrobot-v1", json);
  }
}

}  // namespace
}  // namespace waggle
