#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/base/deadline.h"
#include "common/base/threads/mutex.h"

namespace waggle {

// The state that copies of a StopToken share. Used by StopToken only.
struct StopState {
  Mutex mutex;
  CondVar condition;
  bool requested ABSL_GUARDED_BY(mutex) = false;
  int64_t next_id ABSL_GUARDED_BY(mutex) = 0;
  std::vector<std::pair<int64_t, std::function<void()>>> callbacks ABSL_GUARDED_BY(mutex);
  // The running callback, or -1, and its thread.
  int64_t running_id ABSL_GUARDED_BY(mutex) = -1;
  std::thread::id running_thread ABSL_GUARDED_BY(mutex);
};

// Asks any number of threads to stop. Copies share one state. Thread-safe; a request is final. Blocking calls take a
// StopToken and return CANCELLED soon after a request, so that stopping a process never waits for a peer.
class StopToken {
 public:
  StopToken() : state_(std::make_shared<StopState>()) {}

  // Requests a stop and runs the registered callbacks, in order, in this thread. Idempotent.
  void RequestStop() const {
    {
      MutexLock lock(&state_->mutex);
      if (state_->requested) {
        return;
      }
      state_->requested = true;
      state_->running_thread = std::this_thread::get_id();
      state_->condition.SignalAll();
    }
    while (RunOneCallback()) {
    }
  }

  bool StopRequested() const {
    MutexLock lock(&state_->mutex);
    return state_->requested;
  }

  // Waits up to `timeout`. True if a stop was requested.
  bool WaitFor(absl::Duration timeout) const {
    const Deadline deadline(timeout);
    MutexLock lock(&state_->mutex);
    while (!state_->requested) {
      const absl::Duration left = deadline.Left();
      if (left == absl::ZeroDuration()) {
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

  // Calls a function once when a stop is requested, or at once if it was. The destructor unregisters it, and like
  // std::stop_callback's waits while another thread runs it. So it must not run under a lock that the function takes.
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
      std::function<void()> dropped;  // Destroyed outside the lock: its captures may use the token.
      MutexLock lock(&state_->mutex);
      // -1 if the function ran in the constructor.
      while (id_ >= 0 && state_->running_id == id_ && state_->running_thread != std::this_thread::get_id()) {
        state_->condition.Wait(&state_->mutex);
      }
      for (auto it = state_->callbacks.begin(); it != state_->callbacks.end(); ++it) {
        if (it->first == id_) {
          dropped.swap(it->second);
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
  // Runs the oldest callback without the lock; false if there is none.
  bool RunOneCallback() const {
    std::function<void()> callback;
    {
      MutexLock lock(&state_->mutex);
      if (state_->callbacks.empty()) {
        return false;
      }
      state_->running_id = state_->callbacks.front().first;
      callback = std::move(state_->callbacks.front().second);
      state_->callbacks.erase(state_->callbacks.begin());
    }
    callback();
    callback = nullptr;  // Destroys its captures before a waiting destructor returns.
    MutexLock lock(&state_->mutex);
    state_->running_id = -1;
    state_->condition.SignalAll();
    return true;
  }

  std::shared_ptr<StopState> state_;
};

}  // namespace waggle
