#include "replay_server/base/memory_account.h"

namespace waggle {

bool MemoryAccount::Hold::TryGrow(int64_t bytes) {
  if (account_ != nullptr && !account_->TryAdd(bytes)) {
    return false;
  }
  bytes_ += bytes;
  return true;
}

bool MemoryAccount::TryAdd(int64_t bytes, bool or_alone) {
  for (int64_t used = used_; used <= limit_ - bytes || (or_alone && used == 0);) {
    if (used_.compare_exchange_weak(used, used + bytes)) {
      return true;
    }
  }
  return false;
}

MemoryAccount::Share MemoryAccount::Counted(int64_t bytes) {
  return Share(static_cast<const void*>(this),
               [self = shared_from_this(), bytes](const void* /*account*/) { self->Add(-bytes); });
}

MemoryAccount::Share MemoryAccount::Take(int64_t bytes) {
  Add(bytes);
  return Counted(bytes);
}

MemoryAccount::Share MemoryAccount::TryTake(int64_t bytes) {
  return TryAdd(bytes) ? Counted(bytes) : nullptr;
}

void MemoryAccount::Await(const void* who, int64_t bytes, Granted granted) {
  {
    MutexLock lock(&mutex_);
    if (closed_) {
      return;
    }
    if (waiters_++ > 0 || !TryAdd(bytes, /*or_alone=*/true)) {
      // Calls are never granted by the thread that gives bytes back: the transport drops shares, and may hold locks
      // that `granted` needs. An executor, which may be full, would leave the call waiting for ever.
      if (!started_) {
        --waiters_;  // If the machine has no more threads, the next call tries again.
        thread_ = Thread("memory-account", [this] { Run(); });
        started_ = true;
        ++waiters_;
      }
      waiting_.push_back({who, bytes, std::move(granted)});
      return;
    }
    --waiters_;
  }
  granted(Counted(bytes));
}

void MemoryAccount::Withdraw(const void* who) {
  std::list<Waiter> dropped;  // Destroyed outside the lock.
  MutexLock lock(&mutex_);
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    const auto waiter = at++;
    if (waiter->who == who) {
      dropped.splice(dropped.end(), waiting_, waiter);
      --waiters_;
    }
  }
  changed_.Signal();
}

void MemoryAccount::Wake() {
  MutexLock lock(&mutex_);
  changed_.Signal();
}

void MemoryAccount::Run() {
  for (;;) {
    std::list<Waiter> first;
    {
      MutexLock lock(&mutex_);
      while (!closed_ && !TryAddFirstLocked()) {
        changed_.Wait(&mutex_);
      }
      if (closed_) {
        return;
      }
      first.splice(first.begin(), waiting_, waiting_.begin());
      --waiters_;
    }
    first.front().granted(Counted(first.front().bytes));
  }
}

void MemoryAccount::Close() {
  std::list<Waiter> dropped;  // Destroyed outside the lock, after the thread has ended.
  Thread thread;
  MutexLock lock(&mutex_);
  closed_ = true;
  dropped.swap(waiting_);
  waiters_ = 0;
  thread = std::move(thread_);
  changed_.SignalAll();
}

}  // namespace waggle
