#include "actor/environments/pendulum.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/one_leaf.h"

namespace waggle {
namespace {

struct RecordedStep {
  float action = 0;
  double reward = 0;
  bool truncated = false;
  float observation[3] = {};
};

struct Trajectory {
  std::string name;
  Pendulum::State start{};
  std::vector<RecordedStep> steps;
};

// What tests/golden/record_pendulum.py wrote.
std::vector<Trajectory> LoadTrajectories() {
  std::ifstream file(WAGGLE_GOLDEN_DIR "/pendulum_v1.txt");
  std::string comment;
  std::getline(file, comment);
  std::vector<Trajectory> trajectories;
  std::string keyword;
  while (file >> keyword) {
    REQUIRE(keyword == "trajectory");
    Trajectory trajectory;
    size_t steps = 0;
    file >> trajectory.name >> steps >> trajectory.start[0] >> trajectory.start[1];
    trajectory.steps.resize(steps);
    for (RecordedStep& step : trajectory.steps) {
      file >> step.action >> step.reward >> step.truncated;
      for (float& value : step.observation) {
        file >> value;
      }
    }
    REQUIRE(file);
    trajectories.push_back(trajectory);
  }
  return trajectories;
}

TEST_CASE("Pendulum follows Gymnasium's recorded trajectories to 1e-6", "[unit]") {
  const std::vector<Trajectory> trajectories = LoadTrajectories();
  REQUIRE(trajectories.size() == 8);
  int held = 0;
  double fastest = 0;
  for (const Trajectory& trajectory : trajectories) {
    REQUIRE(trajectory.steps.size() == 200);
    Pendulum environment(1);
    float observation[3] = {};
    environment.ResetTo(trajectory.start, observation);
    for (size_t t = 0; t < trajectory.steps.size(); ++t) {
      const RecordedStep& expected = trajectory.steps[t];
      INFO(trajectory.name << ", step " << t);
      const auto outcome = testing::ValueOf(testing::StepOneLeaf(&environment, &expected.action, observation));
      for (int i = 0; i < 3; ++i) {
        REQUIRE(observation[i] == Approx(expected.observation[i]).margin(1e-6).epsilon(0));
      }
      REQUIRE(outcome.reward == Approx(expected.reward).margin(2e-6).epsilon(0));  // Down to -16.3, as float32.
      REQUIRE_FALSE(outcome.terminated);
      REQUIRE(outcome.truncated == expected.truncated);
      fastest = std::max(fastest, std::abs(static_cast<double>(observation[2])));
    }
    held += trajectory.steps.back().reward > -0.01 ? 1 : 0;
    REQUIRE_CODE(testing::StepOneLeaf(&environment, &trajectory.steps[0].action, observation),
                 absl::StatusCode::kFailedPrecondition);
  }
  REQUIRE(held == 1);     // One policy swings it up and holds it.
  REQUIRE(fastest == 8);  // Another reaches the limit of the speed.
}

TEST_CASE("Pendulum starts anywhere, at a speed of at most 1", "[unit]") {
  Pendulum environment(5);
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

TEST_CASE("Pendulum refuses a torque past its bounds and says so", "[unit]") {
  Pendulum environment(5);
  float observation[3] = {};
  REQUIRE_OK(testing::ResetOneLeaf(&environment, observation));
  for (const float bad : {2.5F, -2.5F, std::numeric_limits<float>::infinity(), std::nanf("")}) {
    REQUIRE_CODE(testing::StepOneLeaf(&environment, &bad, observation), absl::StatusCode::kInvalidArgument);
  }
  const float action = 2.5F;
  REQUIRE(testing::StepOneLeaf(&environment, &action, observation).status().message() ==
          "Pendulum-v1: action 2.5 is outside [-2, 2]");
  const float largest = 2;
  REQUIRE_OK(testing::StepOneLeaf(&environment, &largest, observation));
}

}  // namespace
}  // namespace waggle
