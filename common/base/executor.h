#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/base/mutex.h"
#include "common/base/thread.h"

namespace waggle {

// A fixed number of threads that run tasks in the order in which they came: where work goes that would hold up somebody
// else's thread. Thread-safe.
class Executor {
 public:
  // Threads are called NAME-0, NAME-1, …; at most `max_queued` tasks wait.
  Executor(const std::string& name, int threads, size_t max_queued);
  // Runs what is queued, then joins. Must not run on one of the executor's own threads.
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Queues a task and returns at once. RESOURCE_EXHAUSTED, and the task is dropped, if too many wait already.
  absl::Status Submit(std::function<void()> task) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);

  const size_t max_queued_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<std::function<void()>> tasks_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<Thread> threads_;  // Last: they use everything above.
};

}  // namespace waggle
