#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "actor/environments/leaf_arrays.h"
#include "actor/environments/transforms/environment_transform.h"
#include "common/base/random.h"
#include "common/config/config_visitor.h"

namespace waggle {

// The settings of `random_goal`.
struct RandomGoalSettings {
  std::string as = "goal";  // The path of the leaf: observation/goal.
  int64_t choices = 0;      // The goal is one of so many choices; 0: a vector of `size` real numbers.
  int64_t size = 1;         // Numbers of the vector, and their bounds.
  double min = -1;
  double max = 1;

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const;
};

// Shows a goal that is drawn at the beginning of each episode, uniformly, and stays until its end: the last leaf of the
// observation. The environment knows nothing of it. A leaf `observation`, which must be the only one, becomes
// `observation/observation`.
class RandomGoal : public EnvironmentTransform {
 public:
  using Settings = RandomGoalSettings;
  // INVALID_ARGUMENT if an observation belongs to an agent.
  static absl::Status Change(const Settings& settings, TransformedSpec* spec);

  RandomGoal(const Settings& settings, TransformParts parts);

  absl::StatusOr<ReadyLanes> Recv(int64_t at_least, const StopToken& stop) override;

 private:
  // Draws row `row` of goals_.
  void DrawGoal(size_t row);

  const Settings settings_;
  std::vector<Rng> rngs_;            // By lane.
  LeafArrays goals_;                 // By lane.
  std::array<LeafArrays, 2> shown_;  // By row. They alternate, as in ReadyRows.
  std::array<std::vector<void*>, 2> pointers_;
  size_t current_ = 0;
};

}  // namespace waggle
