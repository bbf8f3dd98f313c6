#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "absl/status/status.h"

namespace waggle {

// Where work is left for other threads: an Executor, or a lane of one. Thread-safe.
class TaskQueue {
 public:
  virtual ~TaskQueue() = default;

  // Queues a task and returns at once. RESOURCE_EXHAUSTED, and the task is dropped, if too much waits already.
  absl::Status Submit(std::function<void()> task) { return SubmitBytes(0, std::move(task)); }
  // The same for a task that goes through about so many bytes: its share of the threads' time is reckoned by them.
  virtual absl::Status SubmitBytes(int64_t bytes, std::function<void()> task) = 0;
};

}  // namespace waggle
