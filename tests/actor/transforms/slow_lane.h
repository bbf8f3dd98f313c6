#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "actor/environments/environment.h"
#include "common/base/random.h"
#include "common/spec/environment_spec.h"

namespace waggle::testing {

// What a lane shows at once.
struct SlowRow {
  std::vector<std::string> observations;  // By leaf, their bytes.
  StepType step_type = StepType::kFirst;
  std::vector<float> rewards;
  double raw_reward = 0;  // The sum of the environment's own.
  float discount = 0;

  friend bool operator==(const SlowRow& a, const SlowRow& b) {
    return a.observations == b.observations && a.step_type == b.step_type && a.rewards == b.rewards &&
           a.raw_reward == b.raw_reward && a.discount == b.discount;
  }
};

// By leaf, their bytes.
using SlowAction = std::vector<std::string>;

// One lane of a ScriptedEnvironment, row after row, and around it the slow references of transforms.
class SlowLane {
 public:
  virtual ~SlowLane() = default;
  // The first row of a new episode.
  virtual SlowRow Begin() = 0;
  // The next row; after an episode's last one Begin() is to be called.
  virtual SlowRow Step(const SlowAction& action) = 0;
};

std::unique_ptr<SlowLane> NewSlowLane(std::unique_ptr<Environment> environment);

// A lane in which every row is changed by itself.
std::unique_ptr<SlowLane> MapRows(std::unique_ptr<SlowLane> inner, std::function<void(SlowRow*)> map);

// Whether the mask of a row of a ScriptedEnvironment allows the action.
bool IsLegal(const SlowRow& row, const SlowAction& action);

using AddTransform = std::function<std::unique_ptr<SlowLane>(std::unique_ptr<SlowLane> inner, Rng rng)>;

// Asserts that lanes with these `environment.transforms` show the rows of slow lanes with their reference, whichever
// lanes are ready first, and that what is shown is within the spec. `reference` is given the generator that the lane's
// draws follow from.
void CompareWithSlowLanes(const std::string& transforms, const AddTransform& reference);

}  // namespace waggle::testing
