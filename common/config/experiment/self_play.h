#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/config/config_visitor.h"
#include "common/config/spec/environment_spec.h"

namespace waggle {

// `actor.self_play:` — the environment has two agents. In each episode of a lane the learner has one agent's place, at
// random, and an opponent the other's. Opponents act by the run's own weights: the newest, or earlier versions, which
// each actor keeps in a ring.
struct SelfPlayOptions {
  // Versions that are kept; the oldest gives way to the next. Each is a network in the actor's memory. 0: the opponent
  // always has the newest weights.
  int64_t size = 8;
  int64_t every = 100;        // Learner steps from one kept version to the next.
  double newest_share = 0.5;  // The share of episodes whose opponent has the newest weights.

  // The policies that an actor makes for opponents: for the newest weights and each kept version.
  int64_t policies() const { return size + 1; }

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const { return absl::OkStatus(); }
};

// The environment that is learned in self-play: that of one of the two agents, as ViewOf gives it. INVALID_ARGUMENT for
// an invalid environment and, behind the key actor.self_play, unless there are two agents, equal in their spaces, and
// no observations but theirs.
absl::StatusOr<EnvironmentSpec> SelfPlaySpec(const EnvironmentSpec& environment);

}  // namespace waggle
