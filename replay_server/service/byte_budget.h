#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>

#include "common/base/mutex.h"
#include "common/base/thread.h"

namespace waggle {

// A number of bytes that many share: whoever wants some waits its turn, first come, first served. Thread-safe; no call
// but Close blocks. Must be owned by a shared pointer.
class ByteBudget : public std::enable_shared_from_this<ByteBudget> {
 public:
  // Gives the bytes back when the last copy of it is gone; any thread may drop it, under any lock.
  using Share = std::shared_ptr<const void>;
  using Granted = std::function<void(Share)>;

  explicit ByteBudget(int64_t bytes);
  // Closed by then, unless nobody has ever waited.
  ~ByteBudget();
  ByteBudget(const ByteBudget&) = delete;
  ByteBudget& operator=(const ByteBudget&) = delete;

  // Calls `granted` with a share: here and now if there are enough bytes and nobody waits, otherwise later on a thread
  // of the budget's own, where it must neither throw nor take long. One that asks for more than there ever are gets its
  // share when nobody else has any. `who` is anything that tells those who ask apart.
  void Take(const void* who, int64_t bytes, Granted granted) ABSL_LOCKS_EXCLUDED(mutex_);

  // Drops what `who` waits for; it may be granted still where that has begun.
  void Withdraw(const void* who) ABSL_LOCKS_EXCLUDED(mutex_);

  // A share for bytes that are there already: nobody is asked, and others wait the longer.
  Share TakeAnyway(int64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);

  // Drops those who wait, and whoever comes later; nobody is called any more once it returns. Not to be called by
  // `granted`.
  void Close() ABSL_LOCKS_EXCLUDED(mutex_);

  int64_t used() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  class Holding;
  struct Waiter {
    const void* who = nullptr;
    int64_t bytes = 0;
    std::shared_ptr<Holding> holding;
    Granted granted;
  };

  bool FitsLocked(int64_t bytes) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool MayGrantLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !waiting_.empty() && FitsLocked(waiting_.front().bytes);
  }
  // Its bytes count as used.
  static void Grant(Waiter* waiter);
  void Release(int64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  // Grants to those whose turn has come.
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);

  const int64_t limit_;
  mutable Mutex mutex_;
  CondVar changed_;  // The first of those who wait may be granted what it asks for, or it is closed.
  int64_t used_ ABSL_GUARDED_BY(mutex_) = 0;
  std::list<Waiter> waiting_ ABSL_GUARDED_BY(mutex_);  // In their order.
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  Thread thread_;  // Last: it uses everything above.
};

}  // namespace waggle
