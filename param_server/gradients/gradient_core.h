#pragma once

#include "absl/time/time.h"
#include "common/api/gradients.h"

namespace waggle {

// What is decided of gradients that come, without threads and clocks: GradientRunner calls it from one thread. All
// times are of one clock that never goes back.
class GradientCore {
 public:
  virtual ~GradientCore() = default;

  // The numbers are finite. `answer` is called now or later, by whatever call it is.
  virtual void Take(GradientPush push, GradientTaker::Answer answer, absl::Time now) = 0;

  // Does what is due by then. When that is next; infinite: nothing is before the next Take.
  virtual void Tick(absl::Time now) = 0;
  virtual absl::Time NextTick() const = 0;
};

}  // namespace waggle
