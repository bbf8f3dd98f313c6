#pragma once

#include <cstdint>

// For test programs whose sources name failing_memory.cc, which replaces operator new.

namespace waggle::testing {

// Allows this thread `after` more allocations by operator new. Then one fails or, if `for_good`, all do.
void FailMemory(int64_t after, bool for_good);
// Allows all allocations again. Returns true if one has failed.
bool StopFailingMemory();

// The same during its life.
class FailingMemory {
 public:
  explicit FailingMemory(int64_t after, bool for_good = false) { FailMemory(after, for_good); }
  ~FailingMemory() { StopFailingMemory(); }
  FailingMemory(const FailingMemory&) = delete;
  FailingMemory& operator=(const FailingMemory&) = delete;
};

}  // namespace waggle::testing
