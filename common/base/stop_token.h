#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/base/mutex.h"

namespace waggle {

// The state that copies of a StopToken share; used through StopToken only.
struct StopState {
  Mutex mutex;
  CondVar condition;
  bool requested ABSL_GUARDED_BY(mutex) = false;
  int64_t next_id ABSL_GUARDED_BY(mutex) = 0;
  std::vector<std::pair<int64_t, std::function<void()>>> callbacks ABSL_GUARDED_BY(mutex);
};

// Asks any number of threads to stop. Copies share one state. Thread-safe; a request is final.
//
// A blocking call of ours takes a StopToken and returns CANCELLED soon after the request, so that stopping a process
// never waits for a peer.
class StopToken {
 public:
  StopToken() : state_(std::make_shared<StopState>()) {}

  // Asks to stop and runs the registered callbacks in the calling thread. Idempotent.
  void RequestStop() const {
    std::vector<std::pair<int64_t, std::function<void()>>> callbacks;
    {
      MutexLock lock(&state_->mutex);
      if (state_->requested) {
        return;
      }
      state_->requested = true;
      state_->condition.SignalAll();
      callbacks.swap(state_->callbacks);
    }
    for (auto& [id, callback] : callbacks) {
      callback();
    }
  }

  bool StopRequested() const {
    MutexLock lock(&state_->mutex);
    return state_->requested;
  }

  // Waits for a request, for at most `timeout`. Returns whether one was made.
  bool WaitFor(absl::Duration timeout) const {
    const absl::Time deadline = absl::Now() + timeout;
    MutexLock lock(&state_->mutex);
    while (!state_->requested) {
      const absl::Duration left = deadline - absl::Now();
      if (left <= absl::ZeroDuration()) {
        return false;
      }
      state_->condition.WaitFor(&state_->mutex, left);
    }
    return true;
  }

  void Wait() const {
    MutexLock lock(&state_->mutex);
    while (!state_->requested) {
      state_->condition.Wait(&state_->mutex);
    }
  }

  // Calls a function once when a stop is requested, at once if it already was; unregisters when destroyed. The
  // function may run at the same time as the destructor, so it should own (share) what it touches.
  class Callback {
   public:
    Callback(const StopToken& token, std::function<void()> function) : state_(token.state_) {
      {
        MutexLock lock(&state_->mutex);
        if (!state_->requested) {
          id_ = state_->next_id++;
          state_->callbacks.emplace_back(id_, std::move(function));
          return;
        }
      }
      function();
    }
    ~Callback() {
      MutexLock lock(&state_->mutex);
      for (auto it = state_->callbacks.begin(); it != state_->callbacks.end(); ++it) {
        if (it->first == id_) {
          state_->callbacks.erase(it);
          return;
        }
      }
    }
    Callback(const Callback&) = delete;
    Callback& operator=(const Callback&) = delete;

   private:
    std::shared_ptr<StopState> state_;
    int64_t id_ = -1;
  };

 private:
  std::shared_ptr<StopState> state_;
};

}  // namespace waggle
