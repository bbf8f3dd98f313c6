#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "actor/environments/pictures/picture.h"
#include "common/base/registry.h"
#include "common/config/experiment/sections.h"
#include "common/config/spec/environment_spec.h"

namespace waggle {

// The result of one action.
struct StepOutcome {
  // The episode ended in a terminal state, whose value is zero.
  bool terminated = false;
  // The episode was cut off, by a time limit for example: the last state still has a value.
  bool truncated = false;
};

// One copy of an environment. One thread; deterministic: the same seed and actions give the same results.
class Environment {
 public:
  virtual ~Environment() = default;

  virtual const EnvironmentSpec& spec() const = 0;

  // Starts a new episode and writes its first observations: one array for each leaf of spec().observations, in their
  // order, of the leaf's NumBytes() bytes.
  virtual absl::Status Reset(absl::Span<void* const> observations) = 0;

  // Takes one action, an array for each leaf of spec().actions, within its bounds. Writes the resulting observations,
  // an episode's final ones included, and all elements of all spec().rewards, back to back. INVALID_ARGUMENT, with
  // nothing changed, if the action is out of range, NaN or forbidden by the newest mask; FAILED_PRECONDITION before the
  // first Reset and after an episode's end.
  virtual absl::StatusOr<StepOutcome> Step(absl::Span<const void* const> actions, absl::Span<void* const> observations,
                                           float* rewards) = 0;

  // A picture of the present state, for people. All pictures of one environment have the same size. UNIMPLEMENTED if
  // the environment cannot draw itself.
  virtual absl::StatusOr<Picture> Draw() const {
    return absl::UnimplementedError(spec().name + " has no picture of its state");
  }
};

// A hand-written policy: writes the actions for one row of observations, an array for each leaf of the spec. Actions
// are as a policy gives them: float32 boxes with finite bounds are in [-1, 1]. Draws nothing; any thread.
using EnvironmentScript = std::function<void(const EnvironmentSpec& spec, absl::Span<const void* const> observations,
                                             absl::Span<void* const> actions)>;

// An entry of the environment registry. To add an environment: a class that derives from EpisodicEnvironment, in a
// header and a source of this folder, and one line in BuiltinEnvironments; every registered one is put through the
// conformance suite by environments_test.
struct EnvironmentDefinition {
  std::string description;  // One line.
  // The spec, without making an environment.
  std::function<absl::StatusOr<EnvironmentSpec>(const EnvironmentOptions& options)> spec;
  // A new copy; all its draws follow from `seed`.
  std::function<absl::StatusOr<std::unique_ptr<Environment>>(const EnvironmentOptions& options, uint64_t seed)> create;
  // False: it draws nothing, so all copies and episodes are alike under the same actions.
  bool follows_seed = true;
  // Acts well by the default settings, as a demonstrator. Null if the environment has no script.
  EnvironmentScript script = nullptr;
};

using EnvironmentDefinitions = Registry<EnvironmentDefinition>;

// All environments that come with Waggle.
EnvironmentDefinitions BuiltinEnvironments();

}  // namespace waggle
