#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "absl/status/status.h"

namespace waggle {

// A queue of work for other threads: an Executor, or one of its lanes. Thread-safe.
class TaskQueue {
 public:
  virtual ~TaskQueue() = default;

  // Queues a task and returns at once. RESOURCE_EXHAUSTED, without the task, if too much waits already.
  absl::Status Submit(std::function<void()> task) { return SubmitBytes(0, std::move(task)); }
  // The same for a task that processes about `bytes`, which count for its share of the threads' time.
  virtual absl::Status SubmitBytes(int64_t bytes, std::function<void()> task) = 0;
};

}  // namespace waggle
