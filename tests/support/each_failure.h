#pragma once

#include <cstdint>
#include <new>

#include "tests/support/catch.h"
#include "tests/support/failing_memory.h"

// For test programs whose sources name failing_memory.cc.

namespace waggle::testing {

// Lets memory run out in the midst of some work.
class Failure {
 public:
  Failure(int64_t after, bool for_good) : after_(after), for_good_(for_good) {}

  // Does the work while this thread has so many more allocations. False where it threw bad_alloc. To be called once.
  template <class Work>
  bool Let(const Work& work) {
    bool thrown = false;
    FailMemory(after_, for_good_);
    try {
      work();
    } catch (const std::bad_alloc&) {
      thrown = true;
    } catch (...) {
      StopFailingMemory();
      throw;
    }
    failed_ = StopFailingMemory();
    return !thrown;
  }
  // Whether there was an allocation that failed: work may also do without what it asked for.
  bool failed() const { return failed_; }

 private:
  const int64_t after_;
  const bool for_good_;
  bool failed_ = false;
};

// Calls `attempt` with a failure for each allocation of what it lets that do, from the first one on, until none fails
// any more. Returns how many have failed. `for_good`: from that one on all of them do.
template <class Attempt>
int64_t ForEachFailure(const Attempt& attempt, bool for_good = false) {
  for (int64_t after = 0;; ++after) {
    CAPTURE(after, for_good);
    Failure failure(after, for_good);
    attempt(&failure);
    if (!failure.failed()) {
      return after;
    }
  }
}

}  // namespace waggle::testing
