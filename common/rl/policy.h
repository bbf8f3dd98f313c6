#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/api/model.h"
#include "common/tensor/array_spec.h"

namespace waggle {

// What a policy is given for one step of some of its slots. A slot is the policy's memory of one environment (recurrent
// state, noise, epsilon): of an actor's lane, or of one of those that a server batches.
struct PolicyInput {
  // [rows]: whose memory each row is about, each slot at most once.
  absl::Span<const int64_t> slots;
  // One array for each leaf of the environment's observations, in their order: [rows, …].
  absl::Span<const void* const> observations;
  // [rows]: whether the observation is the first of an episode (recurrent state starts anew).
  const uint8_t* first = nullptr;

  int64_t rows() const { return static_cast<int64_t>(slots.size()); }
};

// Where a policy writes its decisions. The caller owns the memory.
struct PolicyOutput {
  // One array for each leaf of the environment's actions, in their order: [rows, …]. What a kBox leaf of float32 has
  // finite bounds for is given in [-1, 1]; see ScaleAction (actor/action_scaling.h).
  std::vector<void*> actions;
  // One pointer for each of columns(), [rows, …]; these become columns of the stream.
  std::vector<void*> columns;
  // [rows, private_columns().size()]: what only the initial priority sees.
  float* private_values = nullptr;
};

enum class ActMode {
  kExplore,
  kGreedy,
};

// Chooses actions for environments, each of which has a slot of [0, PolicyContext::lanes): the actor's and the
// evaluator's half of an algorithm. One thread.
class Policy {
 public:
  virtual ~Policy() = default;

  // What it adds to the stream's rows (log-probabilities, recurrent state, …), one spec a row's column.
  virtual std::vector<ArraySpec> columns() const = 0;
  // Float scalars a row that the initial priority needs and that never leave the actor.
  virtual std::vector<std::string> private_columns() const = 0;

  // INVALID_ARGUMENT for slots that it does not have, or for observations of which no action follows.
  virtual absl::Status Act(const PolicyInput& input, ActMode mode, PolicyOutput* output) = 0;

  // How many lanes all actors of the run have by now, at least this one's last: exploration differs over all of them.
  virtual void SetAllLanes(int64_t /*all_lanes*/) {}

  // Takes new weights, between two calls of Act. FAILED_PRECONDITION, with both sides in the message, if they are of
  // another network; the old weights stay.
  virtual absl::Status LoadWeights(const ModelSnapshot& snapshot) = 0;

  // Where weights are not given to it because they are elsewhere: which ones chose the last actions. Absent for a
  // policy that takes them from LoadWeights, and before the first Act.
  virtual std::optional<ModelVersion> acted_version() const { return std::nullopt; }

  struct Waits {
    absl::Duration waited;  // In Act, for whoever computes the actions, the wait under way included.
    bool waiting = false;   // There, now.
  };
  // Any thread.
  virtual Waits waits() const { return {}; }
};

}  // namespace waggle
