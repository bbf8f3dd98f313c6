#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/base/tensor/array_spec.h"
#include "common/config/plan/exploration_options.h"
#include "common/hub/ports/model.h"

namespace waggle {

// A policy's input for one step of some of its slots. A slot is the policy's memory of one environment (recurrent
// state, noise, epsilon): an actor's lane, or one that a server batches.
struct PolicyInput {
  // [rows]: each row's slot, each at most once.
  absl::Span<const int64_t> slots;
  // An array for each leaf of the environment's observations, in order: [rows, …].
  absl::Span<const void* const> observations;
  // [rows]: 1 if the observation begins an episode (recurrent state starts anew).
  const uint8_t* first = nullptr;

  int64_t rows() const { return static_cast<int64_t>(slots.size()); }
};

// A policy's decisions. The caller owns the memory.
struct PolicyOutput {
  // An array for each leaf of the environment's actions, in order: [rows, …]. float32 kBox leaves with finite bounds
  // are in [-1, 1]; see ScaleAction (actor/acting/action_scaling.h).
  std::vector<void*> actions;
  // An array for each of columns(), [rows, …]. They become columns of the stream.
  std::vector<void*> columns;
  // [rows, private_columns().size()]: for the initial priority only.
  float* private_values = nullptr;
};

enum class ActMode {
  kExplore,
  kGreedy,
};

// Chooses actions for environments in slots [0, PolicyContext::lanes), for actors and evaluators. One thread.
class Policy {
 public:
  virtual ~Policy() = default;

  // Columns that it adds to the stream (log-probabilities, recurrent state, …).
  virtual std::vector<ArraySpec> columns() const = 0;
  // Float scalars of a row for the initial priority, which never leave the actor.
  virtual std::vector<std::string> private_columns() const = 0;

  // INVALID_ARGUMENT for unknown slots, or for observations that give no action.
  virtual absl::Status Act(const PolicyInput& input, ActMode mode, PolicyOutput* output) = 0;

  // Sets the number of lanes of all actors, at least this one's last: exploration differs over all of them.
  virtual void SetAllLanes(int64_t /*all_lanes*/) {}

  // Sets other numbers of its exploration.
  virtual void SetExploration(const ExplorationOptions& /*options*/) {}

  // Takes new weights between calls of Act. FAILED_PRECONDITION if they are another network's; the old ones stay.
  virtual absl::Status LoadWeights(const ModelSnapshot& snapshot) = 0;

  // The weights of the last actions if it does not get them by LoadWeights; null otherwise and before the first Act.
  virtual std::optional<ModelVersion> acted_version() const { return std::nullopt; }

  struct Waits {
    absl::Duration waited;  // In Act, for the process that computes actions, including the present wait.
    bool waiting = false;   // True during such a wait.
  };
  // Any thread may call it.
  virtual Waits waits() const { return {}; }
};

}  // namespace waggle
