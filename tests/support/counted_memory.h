#pragma once

#include <cstdint>

// Part of a test program whose sources name counted_memory.cc: that replaces its operator new.

namespace waggle::testing {

// How often this thread has taken memory by operator new.
int64_t MemoryTaken();

}  // namespace waggle::testing
