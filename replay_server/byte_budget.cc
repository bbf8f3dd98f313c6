#include "replay_server/byte_budget.h"

#include <utility>

namespace waggle {

bool ByteBudget::FitsLocked(int64_t bytes) const {
  return used_ == 0 || bytes <= limit_ - used_;
}

ByteBudget::Share ByteBudget::MakeShare(int64_t bytes) {
  return Share(nullptr, [self = shared_from_this(), bytes](const void* /*nothing*/) { self->Release(bytes); });
}

void ByteBudget::Take(int64_t bytes, Granted granted) {
  {
    MutexLock lock(&mutex_);
    if (executor_ == nullptr) {
      return;
    }
    if (!waiting_.empty() || !FitsLocked(bytes)) {
      waiting_.push_back({bytes, std::move(granted)});
      ScheduleLocked();  // Where the executor was full the last time.
      return;
    }
    used_ += bytes;
  }
  granted(MakeShare(bytes));
}

ByteBudget::Share ByteBudget::TakeAnyway(int64_t bytes) {
  {
    MutexLock lock(&mutex_);
    used_ += bytes;
  }
  return MakeShare(bytes);
}

void ByteBudget::Release(int64_t bytes) {
  MutexLock lock(&mutex_);
  used_ -= bytes;
  ScheduleLocked();
}

// Never runs a waiter here: shares are dropped by the transport, which may hold locks that the waiter needs.
void ByteBudget::ScheduleLocked() {
  if (executor_ != nullptr && !scheduled_ && !waiting_.empty() && FitsLocked(waiting_.front().bytes)) {
    scheduled_ = executor_->Submit([self = shared_from_this()] { self->Grant(); }).ok();
  }
}

void ByteBudget::Grant() {
  Waiter first;
  {
    MutexLock lock(&mutex_);
    scheduled_ = false;
    if (waiting_.empty() || !FitsLocked(waiting_.front().bytes)) {
      return;
    }
    first = std::move(waiting_.front());
    waiting_.pop_front();
    used_ += first.bytes;
    ScheduleLocked();  // The next one may go on beside this one.
  }
  first.granted(MakeShare(first.bytes));
}

void ByteBudget::Close() {
  std::deque<Waiter> dropped;  // Destroyed outside the lock.
  MutexLock lock(&mutex_);
  executor_ = nullptr;
  dropped.swap(waiting_);
}

int64_t ByteBudget::used() const {
  MutexLock lock(&mutex_);
  return used_;
}

}  // namespace waggle
