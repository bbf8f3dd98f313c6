#pragma once

#include "absl/time/time.h"
#include "common/hub/ports/gradients.h"

namespace waggle {

// Decides what happens to gradients. Has no threads or clocks: GradientRunner calls it from one thread, with times of a
// steady clock.
class GradientCore {
 public:
  virtual ~GradientCore() = default;

  // The gradient's numbers must be finite. `answer` is called during this call or a later one.
  virtual void Take(GradientPush push, GradientTaker::Answer answer, absl::Time now) = 0;

  // Does what is due at `now`. NextTick is the next such time; infinite: nothing is due before the next Take.
  virtual void Tick(absl::Time now) = 0;
  virtual absl::Time NextTick() const = 0;
};

}  // namespace waggle
