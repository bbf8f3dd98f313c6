#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/tensor/array_spec.h"

namespace waggle {

// How an episode's steps are marked: row t of a stream has the step type of observation t.
enum class StepType : int32_t {
  kFirst = 0,
  kMid = 1,
  // The final observation of an episode. Its action, reward and discount mean nothing.
  kLast = 2,
};

// What actions an environment takes.
struct ActionSpec {
  enum class Kind {
    kDiscrete,    // One of num_values choices; an int64 scalar.
    kContinuous,  // A real vector within bounds; float32.
  };
  Kind kind = Kind::kDiscrete;
  int64_t num_values = 0;
  std::vector<float> low;  // Continuous: one entry a dimension.
  std::vector<float> high;

  // The action as a column named "action".
  ArraySpec Array() const;

  friend bool operator==(const ActionSpec& a, const ActionSpec& b) {
    return a.kind == b.kind && a.num_values == b.num_values && a.low == b.low && a.high == b.high;
  }
};

// What has to be known about an environment to build networks and tables for it.
struct EnvironmentSpec {
  std::string name;
  ArraySpec observation;  // Named "observation".
  ActionSpec action;
  int64_t max_episode_steps = 0;  // After which an episode is truncated; 0: never.

  absl::Status Validate() const;
  // One line, for messages.
  std::string DebugString() const;

  friend bool operator==(const EnvironmentSpec& a, const EnvironmentSpec& b) {
    return a.name == b.name && a.observation == b.observation && a.action == b.action &&
           a.max_episode_steps == b.max_episode_steps;
  }
};

}  // namespace waggle
