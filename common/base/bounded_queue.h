#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/deadline.h"
#include "common/base/mutex.h"

namespace waggle {

// A first-in first-out queue between threads, bounded in elements and in bytes. Thread-safe.
//
// Close() ends it at once and drops what it holds; CloseForPush() lets readers drain it first. Both are idempotent,
// wake every waiter, and make calls that can no longer succeed return CANCELLED.
template <class T>
class BoundedQueue {
 public:
  // Always lets one element in, however large, so that an element larger than `max_bytes` cannot block for ever.
  BoundedQueue(size_t max_elements, size_t max_bytes) : max_elements_(max_elements), max_bytes_(max_bytes) {}

  // Blocks while the queue is full. `bytes` is what the element counts against the byte limit.
  absl::Status Push(T element, size_t bytes) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    while (!push_closed_ && !HasRoomLocked(bytes)) {
      not_full_.Wait(&mutex_);
    }
    if (push_closed_) {
      return absl::CancelledError("the queue is closed");
    }
    bytes_ += bytes;
    elements_.emplace_back(std::move(element), bytes);
    not_empty_.Signal();
    return absl::OkStatus();
  }

  // Blocks while the queue is empty, for at most `timeout`, after which it returns DEADLINE_EXCEEDED.
  absl::StatusOr<T> Pop(absl::Duration timeout = absl::InfiniteDuration()) ABSL_LOCKS_EXCLUDED(mutex_) {
    const Deadline deadline(timeout);
    MutexLock lock(&mutex_);
    while (elements_.empty()) {
      if (push_closed_) {
        return absl::CancelledError("the queue is closed");
      }
      const absl::Duration left = deadline.Left();
      if (left == absl::ZeroDuration()) {
        return absl::DeadlineExceededError("nothing came into the queue in time");
      }
      not_empty_.WaitFor(&mutex_, left);
    }
    T element = std::move(elements_.front().first);
    bytes_ -= elements_.front().second;
    elements_.pop_front();
    not_full_.SignalAll();
    return element;
  }

  void Close() ABSL_LOCKS_EXCLUDED(mutex_) {
    std::deque<std::pair<T, size_t>> dropped;  // Destroyed outside the lock.
    MutexLock lock(&mutex_);
    push_closed_ = true;
    bytes_ = 0;
    dropped.swap(elements_);
    WakeAllLocked();
  }

  void CloseForPush() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    push_closed_ = true;
    WakeAllLocked();
  }

  size_t size() const ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    return elements_.size();
  }

 private:
  bool HasRoomLocked(size_t bytes) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    // Subtracting, because a sum could wrap around; one large element may have gone past the limit.
    const size_t bytes_left = max_bytes_ - std::min(bytes_, max_bytes_);
    return elements_.empty() || (elements_.size() < max_elements_ && bytes <= bytes_left);
  }

  void WakeAllLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    not_empty_.SignalAll();
    not_full_.SignalAll();
  }

  const size_t max_elements_;
  const size_t max_bytes_;
  mutable Mutex mutex_;
  CondVar not_empty_;
  CondVar not_full_;
  std::deque<std::pair<T, size_t>> elements_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool push_closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace waggle
