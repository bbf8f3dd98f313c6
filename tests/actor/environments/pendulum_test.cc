#include "actor/environments/pendulum.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "actor/environments/pendulum_hidden_velocity.h"
#include "tests/actor/environments/golden_trajectories.h"
#include "tests/support/catch.h"
#include "tests/support/environment_conformance.h"

namespace waggle {
namespace {

TEST_CASE("Pendulum follows Gymnasium's recorded trajectories to 1e-6", "[unit]") {
  testing::GoldenEnds expected;
  expected.trajectories = 9;
  expected.truncated = 9;
  testing::CheckFollowsGolden<Pendulum>("pendulum_v1.txt", expected);
}

TEST_CASE("Pendulum starts at any angle, at a speed of at most 1", "[unit]") {
  Pendulum environment(Pendulum::Settings(), 5);
  constexpr int kEpisodes = 2000;
  double sum[3] = {};
  double fastest = 0;
  for (int episode = 0; episode < kEpisodes; ++episode) {
    float observation[3] = {};
    REQUIRE_OK(testing::ResetOneLeaf(&environment, observation));
    for (int i = 0; i < 3; ++i) {
      sum[i] += observation[i];
    }
    fastest = std::max(fastest, std::abs(static_cast<double>(observation[2])));
  }
  REQUIRE(fastest <= 1);
  REQUIRE(fastest > 0.99);
  // Six standard errors: a uniform angle's cosine and sine have a variance of 1/2, its speed one of 1/3.
  for (int i = 0; i < 3; ++i) {
    REQUIRE(std::abs(sum[i] / kEpisodes) < 6 * std::sqrt((i < 2 ? 1.0 / 2 : 1.0 / 3) / kEpisodes));
  }
}

TEST_CASE("Pendulum with a hidden velocity is Pendulum that shows the angle alone", "[unit]") {
  Pendulum whole(Pendulum::Settings(), 5);
  PendulumHiddenVelocity hidden(Pendulum::Settings(), 5);
  Rng rng(3);
  float state[3] = {};
  float seen[3] = {0, 0, 7};
  REQUIRE_OK(testing::ResetOneLeaf(&whole, state));
  REQUIRE_OK(testing::ResetOneLeaf(&hidden, seen));
  for (int t = 0; t < 500; ++t) {
    REQUIRE(seen[0] == state[0]);
    REQUIRE(seen[1] == state[1]);
    REQUIRE(seen[2] == 7);
    const auto action = static_cast<float>(rng.Uniform(-2, 2));
    const auto expected = testing::ValueOf(testing::StepOneLeaf(&whole, &action, state));
    const auto outcome = testing::ValueOf(testing::StepOneLeaf(&hidden, &action, seen));
    REQUIRE(outcome.reward == expected.reward);
    REQUIRE(outcome.truncated == expected.truncated);
    if (outcome.truncated) {
      REQUIRE_OK(testing::ResetOneLeaf(&whole, state));
      REQUIRE_OK(testing::ResetOneLeaf(&hidden, seen));
    }
  }
}

TEST_CASE("Pendulum refuses a torque past its bounds", "[unit]") {
  Pendulum environment(Pendulum::Settings(), 5);
  float observation[3] = {};
  REQUIRE_OK(testing::ResetOneLeaf(&environment, observation));
  for (const float bad : {2.5F, -2.5F, std::numeric_limits<float>::infinity(), std::nanf("")}) {
    REQUIRE_CODE(testing::StepOneLeaf(&environment, &bad, observation), absl::StatusCode::kInvalidArgument);
  }
  const float action = 2.5F;
  REQUIRE(testing::StepOneLeaf(&environment, &action, observation).status().message() ==
          "Pendulum-v1: action[0]: got 2.5; wanted a number in [-2, 2]");
  const float largest = 2;
  REQUIRE_OK(testing::StepOneLeaf(&environment, &largest, observation));
}

TEST_CASE("Pendulum passes the conformance suite at the ends of its options' ranges", "[unit]") {
  for (const char* json : {"{gravity: 0, mass: 0.01, length: 0.01, max_torque: 10000, time_step: 1}",
                           "{gravity: 100, mass: 1000, length: 100, max_torque: 0.001, time_step: 0.0001}",
                           "{max_torque: 0.1, max_episode_steps: 1}"}) {
    testing::CheckBuiltin("Pendulum-v1", json);
  }
}

}  // namespace
}  // namespace waggle
