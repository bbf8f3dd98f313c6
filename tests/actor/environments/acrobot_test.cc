#include "actor/environments/acrobot.h"

#include <algorithm>
#include <cmath>

#include "tests/support/catch.h"
#include "tests/support/environment_conformance.h"
#include "tests/support/golden_trajectories.h"

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

TEST_CASE("Acrobot's torque is off by up to its noise", "[unit]") {
  Acrobot::Settings noisy;
  noisy.torque_noise = 0.5;
  Acrobot environment(noisy, 5);
  Acrobot exact(Acrobot::Settings(), 5);
  const int64_t no_torque = 1;
  float still[6] = {};
  exact.ResetTo({}, still);
  REQUIRE_OK(testing::StepOneLeaf(&exact, &no_torque, still));
  REQUIRE(std::abs(still[5]) < 1e-6F);  // It hangs down and stays there.
  // The acceleration at rest is torque / (1.25 - 1.75² / 3.5), of which noise of 0.5 in either direction makes ±0.13
  // radians a second within 0.2 seconds of swinging.
  float least = 0;
  float most = 0;
  for (int i = 0; i < 500; ++i) {
    float observation[6] = {};
    environment.ResetTo({}, observation);
    REQUIRE_OK(testing::StepOneLeaf(&environment, &no_torque, observation));
    least = std::min(least, observation[5]);
    most = std::max(most, observation[5]);
  }
  REQUIRE(most > 0.2F);
  REQUIRE(most < 0.3F);
  REQUIRE(least < -0.2F);
  REQUIRE(least > -0.3F);
}

TEST_CASE("Acrobot keeps its promises at the ends of its options' ranges", "[unit]") {
  for (const char* json : {"{dynamics: nips, gravity: 100, torque_noise: 10, max_episode_steps: 50}",
                           "{gravity: 0, torque_noise: 10, time_step: 0.001, max_episode_steps: 50}"}) {
    testing::CheckBuiltin("Acrobot-v1", json);
  }
}

}  // namespace
}  // namespace waggle
