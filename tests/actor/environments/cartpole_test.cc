#include "actor/environments/cartpole.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/one_leaf.h"

namespace waggle {
namespace {

struct RecordedStep {
  int64_t action = 0;
  float reward = 0;
  bool terminated = false;
  bool truncated = false;
  float observation[4] = {};
};

struct Trajectory {
  std::string name;
  CartPole::State start{};
  std::vector<RecordedStep> steps;
};

// What tests/golden/record_cartpole.py wrote.
std::vector<Trajectory> LoadTrajectories() {
  std::ifstream file(WAGGLE_GOLDEN_DIR "/cartpole_v1.txt");
  std::string comment;
  std::getline(file, comment);
  std::vector<Trajectory> trajectories;
  std::string keyword;
  while (file >> keyword) {
    REQUIRE(keyword == "trajectory");
    Trajectory trajectory;
    size_t steps = 0;
    file >> trajectory.name >> steps;
    for (double& value : trajectory.start) {
      file >> value;
    }
    trajectory.steps.resize(steps);
    for (RecordedStep& step : trajectory.steps) {
      file >> step.action >> step.reward >> step.terminated >> step.truncated;
      for (float& value : step.observation) {
        file >> value;
      }
    }
    REQUIRE(file);
    trajectories.push_back(trajectory);
  }
  return trajectories;
}

TEST_CASE("CartPole follows Gymnasium's recorded trajectories to 1e-6", "[unit]") {
  const std::vector<Trajectory> trajectories = LoadTrajectories();
  REQUIRE(trajectories.size() == 11);
  int terminated = 0;
  int truncated = 0;
  for (const Trajectory& trajectory : trajectories) {
    CartPole environment(1);
    float observation[4] = {};
    environment.ResetTo(trajectory.start, observation);
    for (size_t t = 0; t < trajectory.steps.size(); ++t) {
      const RecordedStep& expected = trajectory.steps[t];
      INFO(trajectory.name << ", step " << t);
      const auto outcome = testing::ValueOf(testing::StepOneLeaf(&environment, &expected.action, observation));
      for (int i = 0; i < 4; ++i) {
        REQUIRE(observation[i] == Approx(expected.observation[i]).margin(1e-6).epsilon(0));
      }
      REQUIRE(outcome.reward == expected.reward);
      REQUIRE(outcome.terminated == expected.terminated);
      REQUIRE(outcome.truncated == expected.truncated);
      terminated += outcome.terminated;
      truncated += outcome.truncated;
    }
    REQUIRE_CODE(testing::StepOneLeaf(&environment, &trajectory.steps[0].action, observation),
                 absl::StatusCode::kFailedPrecondition);
  }
  // One of the two that reach the time limit falls in that very step.
  REQUIRE(terminated == 10);
  REQUIRE(truncated == 2);
}

TEST_CASE("CartPole starts uniformly within 0.05 of the upright rest", "[unit]") {
  CartPole environment(5);
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

TEST_CASE("CartPole with hidden velocities is CartPole, of which position and angle are seen", "[unit]") {
  CartPole whole(5);
  CartPole hidden(5, CartPole::Shown::kPositions);
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

TEST_CASE("CartPole refuses an action that is neither left nor right and says so", "[unit]") {
  CartPole environment(5);
  float observation[4] = {};
  REQUIRE_OK(testing::ResetOneLeaf(&environment, observation));
  const int64_t action = 2;
  const absl::Status status = testing::StepOneLeaf(&environment, &action, observation).status();
  REQUIRE_CODE(status, absl::StatusCode::kInvalidArgument);
  REQUIRE(status.message() == "CartPole-v1: action 2 is outside [0, 2)");
}

}  // namespace
}  // namespace waggle
