#pragma once

#include <cstdint>

#include "common/nn/state_visitor.h"
#include "common/rl/algorithms/value_based/definition.h"
#include "common/rl/kit/net.h"

namespace waggle {

// Lets a target network follow its network. Not thread-safe.
class TargetFollower {
 public:
  // `net` must outlive it.
  TargetFollower(const TargetOptions& options, Net* net) : options_(options), net_(net) {}

  // Must be called after each learner step that changed the network.
  void Follow() {
    ++steps_;
    if (options_.update_steps == 0) {
      net_->FollowTarget(options_.EffectiveTargetUpdateRate());
    } else if (steps_ % options_.update_steps == 0) {
      net_->FollowTarget(1);
    }
  }

  void VisitState(StateVisitor* visitor) { visitor->Int("steps", &steps_); }

 private:
  const TargetOptions options_;
  Net* const net_;
  int64_t steps_ = 0;
};

}  // namespace waggle
