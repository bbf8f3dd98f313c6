#pragma once

#include <deque>
#include <functional>

#include "absl/time/time.h"
#include "common/base/threads/mutex.h"
#include "common/base/threads/thread.h"
#include "common/hub/ports/gradients.h"
#include "param_server/gradients/gradient_core.h"

namespace waggle {

// Runs a core in a thread of its own, task after task. Thread-safe. The streams bound the queue: each limits its
// unanswered gradients.
class GradientRunner final : public GradientTaker {
 public:
  // Starts the thread. `core` outlives it; `after` is called in it after each task. Must be called once.
  void Start(GradientCore* core, std::function<void()> after = nullptr) ABSL_LOCKS_EXCLUDED(mutex_);
  ~GradientRunner() override { Stop(); }

  // Drops all waiting and later tasks. Returns after the last call of the core.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

  void Take(GradientPush push, Answer answer) override ABSL_LOCKS_EXCLUDED(mutex_);
  void Post(std::function<void()> task) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);

  Mutex mutex_;
  CondVar changed_;
  std::deque<std::function<void()>> tasks_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  GradientCore* core_ = nullptr;  // Set before the thread starts, then used by it alone.
  std::function<void()> after_;   // As core_.
  Thread thread_;
};

}  // namespace waggle
