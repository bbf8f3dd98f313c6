#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "common/base/threads/executor.h"
#include "common/base/threads/mutex.h"

namespace waggle {

// Functions that are called after a change. Thread-safe.
class Listeners {
 public:
  // Keeps a listener registered until it is destroyed.
  class Subscription {
   public:
    ~Subscription() {
      std::function<void()> listener;  // Destroyed outside the lock.
      MutexLock lock(&listeners_->mutex_);
      const auto it = listeners_->by_id_.find(id_);
      listener = std::move(it->second);
      listeners_->by_id_.erase(it);
    }
    Subscription(const Subscription&) = delete;
    Subscription& operator=(const Subscription&) = delete;

   private:
    friend class Listeners;
    Subscription(Listeners* listeners, int64_t id) : listeners_(listeners), id_(id) {}
    Listeners* const listeners_;
    const int64_t id_;
  };

  // `listener` may still run while the subscription is destroyed. This object outlives the subscription.
  std::unique_ptr<Subscription> Add(std::function<void()> listener) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    by_id_.emplace(next_id_, std::move(listener));
    return std::unique_ptr<Subscription>(new Subscription(this, next_id_++));
  }

  // Calls all listeners, in this thread and outside the lock.
  void CallAll() ABSL_LOCKS_EXCLUDED(mutex_) {
    std::vector<std::function<void()>> listeners;
    {
      MutexLock lock(&mutex_);
      for (const auto& [id, listener] : by_id_) {
        listeners.push_back(listener);
      }
    }
    for (const std::function<void()>& listener : listeners) {
      listener();
    }
  }

 private:
  Mutex mutex_;
  std::map<int64_t, std::function<void()>> by_id_ ABSL_GUARDED_BY(mutex_);
  int64_t next_id_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Calls listeners in a thread of its own. Thread-safe.
class Announcer {
 public:
  // Queues a call of all listeners; returns at once.
  void Announce() {
    ++count_;
    if (!queued_.exchange(true)) {
      // Cannot be refused: at most one task waits while one runs.
      thread_.Submit([this] { CallListeners(); }).IgnoreError();
    }
  }
  // Announcements so far.
  int64_t count() const { return count_; }
  Listeners& listeners() { return listeners_; }

 private:
  void CallListeners() {
    queued_ = false;
    listeners_.CallAll();
  }

  static constexpr size_t kMaxTasks = 2;

  Listeners listeners_;
  // Atomic because each is used without any other field.
  std::atomic<int64_t> count_{0};
  std::atomic<bool> queued_{false};  // A queued task will call the listeners.
  Executor thread_{"hub-teller", 1, kMaxTasks};
};

}  // namespace waggle
