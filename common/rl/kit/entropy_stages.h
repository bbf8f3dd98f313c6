#pragma once

#include <cstdint>
#include <vector>

#include "common/config/plan/entropy_options.h"
#include "common/config/spec/joint_action.h"
#include "common/nn/state_visitor.h"

namespace waggle {

// The entropy in nats that a policy should keep, if its experiment does not say: for each real element that of a tenth
// of its range, and for each choice of N that of one value with a probability of 0.9 and others with the rest.
double DefaultEntropyTarget(const JointAction& action);

// Moves the weight of an entropy in three stages, as ALF's EntropyTargetAlgorithm. The mean entropy of the first steps
// gives a bound, 0.8 of it.
//
//   1  The weight falls slowly, until the entropy is below the bound: learning begins even if the weight was too large.
//   2  The weight stays, until the entropy is below the target.
//   3  The weight grows while the entropy does not rise, and falls while it rises: at the full rate away from the
//      target, at half of it if the entropy already moves to the target. Each crossing of the target slows this down.
//      Far below the target it is fast again.
//
// Pure numbers. Not thread-safe.
class EntropyStages {
 public:
  EntropyStages(const EntropyStagesOptions& options, double target);

  // The logarithm of the weight after a step with this mean entropy, in nats.
  double Next(double log_weight, double entropy);

  void VisitState(StateVisitor* visitor);

 private:
  enum Stage : int64_t { kMeasure, kLower, kStay, kAdjust };

  double Adjust(bool is_below, bool rises) const;

  const EntropyStagesOptions options_;
  const double target_;
  std::vector<double> window_;  // The last entropies, in a ring.
  int64_t steps_ = 0;
  int64_t stage_ = kMeasure;
  double bound_ = 0;
  double rate_;
  int64_t was_below_ = 1;  // At the last step.
};

}  // namespace waggle
