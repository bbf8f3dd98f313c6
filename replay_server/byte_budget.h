#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>

#include "common/base/executor.h"
#include "common/base/mutex.h"

namespace waggle {

// A number of bytes that many share: whoever wants some waits its turn, first come, first served. Thread-safe; no call
// blocks. Must be owned by a shared pointer.
class ByteBudget : public std::enable_shared_from_this<ByteBudget> {
 public:
  // Gives the bytes back when the last copy of it is gone; any thread may drop it, under any lock.
  using Share = std::shared_ptr<const void>;
  using Granted = std::function<void(Share)>;

  // The executor runs those whose turn has come, until Close.
  ByteBudget(int64_t bytes, Executor* executor) : limit_(bytes), executor_(executor) {}

  // Calls `granted` with a share: here and now if there are enough bytes and nobody waits, otherwise later on the
  // executor. One that asks for more than there ever are gets its share when nobody else has any.
  void Take(int64_t bytes, Granted granted) ABSL_LOCKS_EXCLUDED(mutex_);

  // A share for bytes that are there already: nobody is asked, and others wait the longer.
  Share TakeAnyway(int64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);

  // Drops those who wait, and whoever comes later. The executor may go after this.
  void Close() ABSL_LOCKS_EXCLUDED(mutex_);

  int64_t used() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Waiter {
    int64_t bytes = 0;
    Granted granted;
  };

  bool FitsLocked(int64_t bytes) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Share MakeShare(int64_t bytes);
  void Release(int64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  // Sees to it that Grant is called if somebody's turn has come.
  void ScheduleLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Grant() ABSL_LOCKS_EXCLUDED(mutex_);

  const int64_t limit_;
  mutable Mutex mutex_;
  Executor* executor_ ABSL_GUARDED_BY(mutex_);  // Null once closed.
  int64_t used_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<Waiter> waiting_ ABSL_GUARDED_BY(mutex_);
  bool scheduled_ ABSL_GUARDED_BY(mutex_) = false;  // A Grant is on its way.
};

}  // namespace waggle
