#include "common/rl/target_update.h"

namespace waggle {

void TargetUpdate::Follow(const FlatParameters& online, FlatParameters* target) {
  torch::NoGradGuard no_grad;
  ++steps_taken_;
  torch::Tensor values = target->values();
  if (period_ == 0) {
    values.lerp_(online.values(), rate_);
  } else if (steps_taken_ % period_ == 0) {
    values.copy_(online.values());
  }
}

}  // namespace waggle
