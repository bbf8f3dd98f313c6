#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "actor/environments/environment_settings.h"
#include "tests/support/catch.h"
#include "tests/support/one_leaf.h"

// Trajectories of Gymnasium's environments, recorded by tests/golden/record_classics.py, and checks that an environment
// of one observation, one action and one reward follows them.

namespace waggle::testing {

struct GoldenStep {
  double action = 0;
  double reward = 0;
  bool terminated = false;
  bool truncated = false;
  std::vector<float> observation;
};

struct GoldenTrajectory {
  std::string name;
  std::string options;  // `environment.options`, as JSON.
  std::vector<double> start;
  std::vector<GoldenStep> steps;
};

inline std::vector<GoldenTrajectory> LoadGolden(const std::string& path, size_t state_size, size_t observation_size) {
  std::ifstream file(path);
  std::string comment;
  std::getline(file, comment);
  std::vector<GoldenTrajectory> trajectories;
  std::string keyword;
  while (file >> keyword) {
    REQUIRE(keyword == "trajectory");
    GoldenTrajectory trajectory;
    size_t steps = 0;
    file >> trajectory.name >> steps >> trajectory.options;
    trajectory.start.resize(state_size);
    for (double& value : trajectory.start) {
      file >> value;
    }
    trajectory.steps.resize(steps);
    for (GoldenStep& step : trajectory.steps) {
      file >> step.action >> step.reward >> step.terminated >> step.truncated;
      step.observation.resize(observation_size);
      for (float& value : step.observation) {
        file >> value;
      }
    }
    REQUIRE(file);
    trajectories.push_back(std::move(trajectory));
  }
  return trajectories;
}

// The ends of a file's trajectories.
struct GoldenEnds {
  int64_t trajectories = 0;
  int64_t terminated = 0;
  int64_t truncated = 0;
  double largest_error = 0;  // The largest of an observation's element.
};

// Asserts that the environment follows one trajectory: observations to 1e-6, rewards to the last bits of a float32.
template <class Class>
void FollowTrajectory(const GoldenTrajectory& trajectory, GoldenEnds* ends) {
  using Settings = typename Class::Settings;
  EnvironmentOptions options;
  options.options = trajectory.options;
  Class environment(ValueOf(ReadSettings<Settings>(options)), 1);
  const bool is_choice = environment.spec().actions[0].kind == SpaceKind::kDiscrete;
  typename Class::State start;
  std::copy(trajectory.start.begin(), trajectory.start.end(), start.begin());
  std::vector<float> observation(trajectory.steps[0].observation.size());
  environment.ResetTo(start, observation.data());
  for (size_t t = 0; t < trajectory.steps.size(); ++t) {
    const GoldenStep& expected = trajectory.steps[t];
    INFO(trajectory.name << ", step " << t);
    const auto choice = static_cast<int64_t>(expected.action);
    const auto number = static_cast<float>(expected.action);
    const void* const action = is_choice ? static_cast<const void*>(&choice) : &number;
    const auto outcome = ValueOf(StepOneLeaf(&environment, action, observation.data()));
    for (size_t i = 0; i < observation.size(); ++i) {
      const double error = std::abs(static_cast<double>(observation[i]) - static_cast<double>(expected.observation[i]));
      REQUIRE(error <= 1e-6);
      ends->largest_error = std::max(ends->largest_error, error);
    }
    REQUIRE(outcome.reward == Approx(expected.reward).margin(1e-7).epsilon(1.2e-7));
    REQUIRE(outcome.terminated == expected.terminated);
    REQUIRE(outcome.truncated == expected.truncated);
  }
  ends->trajectories += 1;
  ends->terminated += trajectory.steps.back().terminated ? 1 : 0;
  ends->truncated += trajectory.steps.back().truncated ? 1 : 0;
}

template <class Class>
GoldenEnds FollowFile(const std::string& path) {
  const EnvironmentSpec spec = Class::Spec(typename Class::Settings());
  const auto observation_size = static_cast<size_t>(spec.observations[0].array.NumElements());
  GoldenEnds ends;
  for (const GoldenTrajectory& trajectory : LoadGolden(path, typename Class::State().size(), observation_size)) {
    FollowTrajectory<Class>(trajectory, &ends);
  }
  return ends;
}

// Asserts that the environment follows all trajectories of tests/golden/`file`, and that these end as `expected`. If
// WAGGLE_MORE_TRAJECTORIES names a folder, its file of that name is checked too.
template <class Class>
void CheckFollowsGolden(const std::string& file, const GoldenEnds& expected) {
  const GoldenEnds ends = FollowFile<Class>(std::string(WAGGLE_GOLDEN_DIR "/") + file);
  CHECK(ends.trajectories == expected.trajectories);
  CHECK(ends.terminated == expected.terminated);
  CHECK(ends.truncated == expected.truncated);
  if (const char* const folder = std::getenv("WAGGLE_MORE_TRAJECTORIES"); folder != nullptr) {
    const GoldenEnds more = FollowFile<Class>(std::string(folder) + "/" + file);
    WARN(file << ": " << more.trajectories << " trajectories, " << more.terminated << " terminated, " << more.truncated
              << " truncated; largest error " << more.largest_error);
    CHECK(more.trajectories > 0);
  }
}

}  // namespace waggle::testing
