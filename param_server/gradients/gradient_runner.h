#pragma once

#include <deque>
#include <functional>

#include "absl/time/time.h"
#include "common/api/gradients.h"
#include "common/base/mutex.h"
#include "common/base/thread.h"
#include "param_server/gradients/gradient_core.h"

namespace waggle {

// Runs a core in a thread of its own, which does what it is given in its order. Thread-safe. What waits here is bounded
// by those who hand it over: a stream waits for its answers.
class GradientRunner final : public GradientTaker {
 public:
  // Sets the core, which outlives the thread, and starts. `after` is called by the thread whenever the core has done
  // something. Once.
  void Start(GradientCore* core, std::function<void()> after = nullptr) ABSL_LOCKS_EXCLUDED(mutex_);
  ~GradientRunner() override { Stop(); }

  // Returns when the core is called no more. What waits is dropped, and so is what comes later.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

  void Take(GradientPush push, Answer answer) override ABSL_LOCKS_EXCLUDED(mutex_);
  void Post(std::function<void()> task) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);

  Mutex mutex_;
  CondVar changed_;
  std::deque<std::function<void()>> tasks_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  GradientCore* core_ = nullptr;  // Set before the thread starts; its alone.
  std::function<void()> after_;   // As core_.
  Thread thread_;
};

}  // namespace waggle
