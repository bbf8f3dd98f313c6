#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "common/api/model.h"
#include "common/tensor/array_spec.h"

namespace waggle {

// What a policy is given for one step of all lanes.
struct PolicyInput {
  int64_t lanes = 0;
  // One array for each leaf of the environment's observations, in their order: [lanes, …].
  absl::Span<const void* const> observations;
  // [lanes]: whether the lane's observation is the first of an episode (recurrent state starts anew).
  const uint8_t* first = nullptr;
};

// Where a policy writes its decisions. The caller owns the memory.
struct PolicyOutput {
  // One array for each leaf of the environment's actions, in their order: [lanes, …]. What a kBox leaf of float32 has
  // finite bounds for is given in [-1, 1]; see ScaleAction (actor/action_scaling.h).
  std::vector<void*> actions;
  // One pointer for each of columns(), [lanes, …]; these become columns of the stream.
  std::vector<void*> columns;
  // [lanes, private_columns().size()]: what only the initial priority sees.
  float* private_values = nullptr;
};

enum class ActMode {
  kExplore,
  kGreedy,
};

// Chooses actions for a vector of environment lanes: the actor's and the evaluator's half of an algorithm. One thread.
class Policy {
 public:
  virtual ~Policy() = default;

  // What it adds to the stream's rows (log-probabilities, recurrent state, …), one spec a row's column.
  virtual std::vector<ArraySpec> columns() const = 0;
  // Float scalars a row that the initial priority needs and that never leave the actor.
  virtual std::vector<std::string> private_columns() const = 0;

  virtual absl::Status Act(const PolicyInput& input, ActMode mode, PolicyOutput* output) = 0;

  // Takes new weights, between two calls of Act. FAILED_PRECONDITION, with both sides in the message, if they are of
  // another network; the old weights stay.
  virtual absl::Status LoadWeights(const ModelSnapshot& snapshot) = 0;
};

}  // namespace waggle
