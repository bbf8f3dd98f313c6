#pragma once

#include <cstddef>
#include <functional>

#include "common/base/threads/executor.h"

namespace waggle {

// Calls `work` once for each number below `count`, in this thread and in up to `helpers` idle threads of the executor,
// for which it does not wait. Returns after all calls. They must not throw. Thread-safe, also in the executor's
// threads.
void SharedLoop(Executor* executor, size_t helpers, size_t count, std::function<void(size_t)> work);

}  // namespace waggle
