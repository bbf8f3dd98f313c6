#pragma once

#include <cstdint>
#include <new>

#include "tests/support/catch.h"
#include "tests/support/failing_memory.h"

// For test programs whose sources name failing_memory.cc.

namespace waggle::testing {

// Fails an allocation during some work.
class Failure {
 public:
  Failure(int64_t after, bool for_good) : after_(after), for_good_(for_good) {}

  // Does the work with a limit on this thread's allocations. False if it threw bad_alloc. Called once.
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
  // True if an allocation failed; the work may succeed without it.
  bool failed() const { return failed_; }

 private:
  const int64_t after_;
  const bool for_good_;
  bool failed_ = false;
};

// Calls `attempt` with a failure of the first allocation of its work, then of the second, and so on, until none fails.
// Returns the number of failures. `for_good`: all allocations after the failed one fail, too.
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
