#pragma once

#include <cstddef>
#include <functional>

#include "common/base/executor.h"

namespace waggle {

// Calls `work` once with each number below `count`: in this thread, and in those of the executor that have time, up to
// `helpers` of them. Returns when all calls have, of which none may throw. It never waits for a thread that is busy
// with something else. Any thread may call it, several at once, those of the executor included.
void SharedLoop(Executor* executor, size_t helpers, size_t count, std::function<void(size_t)> work);

}  // namespace waggle
