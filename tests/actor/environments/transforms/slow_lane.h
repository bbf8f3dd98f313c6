#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "actor/environments/environment.h"
#include "common/base/random.h"
#include "common/config/spec/environment_spec.h"

namespace waggle::testing {

// A lane's row.
struct SlowRow {
  std::vector<std::string> observations;  // By leaf, their bytes.
  StepType step_type = StepType::kFirst;
  std::vector<float> rewards;
  double raw_reward = 0;  // The sum of the environment's own rewards.
  float discount = 0;

  friend bool operator==(const SlowRow& a, const SlowRow& b) {
    return a.observations == b.observations && a.step_type == b.step_type && a.rewards == b.rewards &&
           a.raw_reward == b.raw_reward && a.discount == b.discount;
  }
};

// By leaf, their bytes.
using SlowAction = std::vector<std::string>;

// One lane of a ScriptedEnvironment, row by row, with the slow references of transforms around it.
class SlowLane {
 public:
  virtual ~SlowLane() = default;
  // The first row of a new episode.
  virtual SlowRow Begin() = 0;
  // The next row. After an episode's last one call Begin().
  virtual SlowRow Step(const SlowAction& action) = 0;
};

std::unique_ptr<SlowLane> NewSlowLane(std::unique_ptr<Environment> environment);

// A lane that changes each row by itself.
std::unique_ptr<SlowLane> MapRows(std::unique_ptr<SlowLane> inner, std::function<void(SlowRow*)> map);

// True if the mask in a row of a ScriptedEnvironment allows the action.
bool IsLegal(const SlowRow& row, const SlowAction& action);

using AddTransform = std::function<std::unique_ptr<SlowLane>(std::unique_ptr<SlowLane> inner, Rng rng)>;

// Asserts that lanes with these `environment.transforms` have the rows of slow lanes with their reference, whichever
// lanes are ready first, and that observations are within the spec. `reference` gets the generator of the lane's random
// draws.
void CompareWithSlowLanes(const std::string& transforms, const AddTransform& reference);

}  // namespace waggle::testing
