#pragma once

#include <cstdint>

// Part of a test program whose sources name failing_memory.cc: that replaces its operator new.

namespace waggle::testing {

// Lets this thread have `after` more allocations by operator new, and then one that fails; or, `for_good`, no other.
void FailMemory(int64_t after, bool for_good);
// Lets it have all again. Returns whether one has failed.
bool StopFailingMemory();

// The same for as long as it lives.
class FailingMemory {
 public:
  explicit FailingMemory(int64_t after, bool for_good = false) { FailMemory(after, for_good); }
  ~FailingMemory() { StopFailingMemory(); }
  FailingMemory(const FailingMemory&) = delete;
  FailingMemory& operator=(const FailingMemory&) = delete;
};

}  // namespace waggle::testing
