#include "replay_server/service/byte_budget.h"

#include <utility>

namespace waggle {

// What a share owns. Who waits for one has it already, which keeps the budget.
class ByteBudget::Holding {
 public:
  explicit Holding(std::shared_ptr<ByteBudget> budget) : budget_(std::move(budget)) {}
  ~Holding() {
    if (bytes_ > 0) {
      budget_->Release(bytes_);
    }
  }
  Holding(const Holding&) = delete;
  Holding& operator=(const Holding&) = delete;

  // Once, by whoever grants them.
  void Set(int64_t bytes) { bytes_ = bytes; }

 private:
  const std::shared_ptr<ByteBudget> budget_;
  int64_t bytes_ = 0;
};

// Never runs a waiter where bytes come back: shares are dropped by the transport, which may hold locks that the waiter
// needs. Nor by somebody else's executor, which may be full then: nobody would be left to try again.
ByteBudget::ByteBudget(int64_t bytes) : limit_(bytes), thread_("byte-budget", [this] { Run(); }) {}

ByteBudget::~ByteBudget() {
  Close();
}

bool ByteBudget::FitsLocked(int64_t bytes) const {
  return used_ == 0 || bytes <= limit_ - used_;
}

void ByteBudget::Take(const void* who, int64_t bytes, Granted granted) {
  std::list<Waiter> asks;
  asks.push_back({who, bytes, std::make_shared<Holding>(shared_from_this()), std::move(granted)});
  {
    MutexLock lock(&mutex_);
    if (closed_) {
      return;
    }
    if (!waiting_.empty() || !FitsLocked(bytes)) {
      waiting_.splice(waiting_.end(), asks);
      return;
    }
    used_ += bytes;
  }
  Grant(&asks.front());
}

void ByteBudget::Grant(Waiter* waiter) {
  waiter->holding->Set(waiter->bytes);
  waiter->granted(std::move(waiter->holding));
}

void ByteBudget::Withdraw(const void* who) {
  std::list<Waiter> dropped;  // Destroyed outside the lock.
  MutexLock lock(&mutex_);
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    const auto waiter = at++;
    if (waiter->who == who) {
      dropped.splice(dropped.end(), waiting_, waiter);
    }
  }
  if (MayGrantLocked()) {
    changed_.Signal();
  }
}

ByteBudget::Share ByteBudget::TakeAnyway(int64_t bytes) {
  auto holding = std::make_shared<Holding>(shared_from_this());
  {
    MutexLock lock(&mutex_);
    used_ += bytes;
  }
  holding->Set(bytes);
  return holding;
}

void ByteBudget::Release(int64_t bytes) {
  MutexLock lock(&mutex_);
  used_ -= bytes;
  if (MayGrantLocked()) {
    changed_.Signal();
  }
}

void ByteBudget::Run() {
  for (;;) {
    std::list<Waiter> first;
    {
      MutexLock lock(&mutex_);
      while (!closed_ && !MayGrantLocked()) {
        changed_.Wait(&mutex_);
      }
      if (closed_) {
        return;
      }
      first.splice(first.begin(), waiting_, waiting_.begin());
      used_ += first.front().bytes;
    }
    Grant(&first.front());
  }
}

void ByteBudget::Close() {
  std::list<Waiter> dropped;  // Destroyed outside the lock.
  {
    MutexLock lock(&mutex_);
    closed_ = true;
    dropped.swap(waiting_);
    changed_.SignalAll();
  }
  thread_.Join();
}

int64_t ByteBudget::used() const {
  MutexLock lock(&mutex_);
  return used_;
}

}  // namespace waggle
