#include "actor/environments/cartpole.h"

#include <algorithm>
#include <cmath>

#include "actor/environments/cartpole_hidden_velocity.h"
#include "tests/actor/environments/golden_trajectories.h"
#include "tests/support/catch.h"
#include "tests/support/environment_conformance.h"

namespace waggle {
namespace {

TEST_CASE("CartPole follows Gymnasium's recorded trajectories to 1e-6", "[unit]") {
  testing::GoldenEnds expected;
  expected.trajectories = 13;
  expected.terminated = 11;
  expected.truncated = 3;  // The pole of one of the three falls in that step.
  testing::CheckFollowsGolden<CartPole>("cartpole_v1.txt", expected);
}

TEST_CASE("CartPole starts uniformly within 0.05 of the upright rest", "[unit]") {
  CartPole environment(CartPole::Settings(), 5);
  constexpr int kEpisodes = 2000;
  double sum[4] = {};
  double largest = 0;
  for (int episode = 0; episode < kEpisodes; ++episode) {
    float observation[4] = {};
    REQUIRE_OK(testing::ResetOneLeaf(&environment, observation));
    for (int i = 0; i < 4; ++i) {
      sum[i] += observation[i];
      largest = std::max(largest, std::abs(static_cast<double>(observation[i])));
    }
  }
  REQUIRE(largest <= 0.05 + 1e-9);
  REQUIRE(largest > 0.0499);
  for (const double total : sum) {
    // Six standard errors of a uniform variable's mean.
    REQUIRE(std::abs(total / kEpisodes) < 6 * 0.05 / std::sqrt(3.0 * kEpisodes));
  }
}

TEST_CASE("CartPole with hidden velocities is CartPole that shows position and angle alone", "[unit]") {
  CartPole whole(CartPole::Settings(), 5);
  CartPoleHiddenVelocity hidden(CartPole::Settings(), 5);
  Rng rng(3);
  float state[4] = {};
  float seen[3] = {0, 0, 7};
  int episodes = 0;
  REQUIRE_OK(testing::ResetOneLeaf(&whole, state));
  REQUIRE_OK(testing::ResetOneLeaf(&hidden, seen));
  for (int t = 0; t < 1000; ++t) {
    REQUIRE(seen[0] == state[0]);
    REQUIRE(seen[1] == state[2]);
    REQUIRE(seen[2] == 7);
    const auto action = static_cast<int64_t>(rng.UniformInt(2));
    const auto expected = testing::ValueOf(testing::StepOneLeaf(&whole, &action, state));
    const auto outcome = testing::ValueOf(testing::StepOneLeaf(&hidden, &action, seen));
    REQUIRE(outcome.reward == expected.reward);
    REQUIRE(outcome.terminated == expected.terminated);
    REQUIRE(outcome.truncated == expected.truncated);
    if (outcome.terminated || outcome.truncated) {
      REQUIRE_OK(testing::ResetOneLeaf(&whole, state));
      REQUIRE_OK(testing::ResetOneLeaf(&hidden, seen));
      ++episodes;
    }
  }
  REQUIRE(episodes > 20);
}

TEST_CASE("CartPole refuses an action that is neither left nor right", "[unit]") {
  CartPole environment(CartPole::Settings(), 5);
  float observation[4] = {};
  REQUIRE_OK(testing::ResetOneLeaf(&environment, observation));
  const int64_t action = 2;
  const absl::Status status = testing::StepOneLeaf(&environment, &action, observation).status();
  REQUIRE_CODE(status, absl::StatusCode::kInvalidArgument);
  REQUIRE(status.message() == "CartPole-v1: action: got 2; wanted an integer in [0, 1]");
}

TEST_CASE("CartPole passes the conformance suite at the ends of its options' ranges", "[unit]") {
  for (const char* json : {"{gravity: 0, cart_mass: 0.01, pole_mass: 1000, pole_half_length: 0.01, force: 10000, "
                           "time_step: 1, sutton_barto_reward: true}",
                           "{gravity: 100, cart_mass: 1000, pole_mass: 0.001, pole_half_length: 100, force: 0, "
                           "time_step: 0.0001, max_episode_steps: 40}"}) {
    testing::CheckBuiltin("CartPole-v1", json);
  }
}

}  // namespace
}  // namespace waggle
