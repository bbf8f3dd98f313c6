#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <list>
#include <memory>
#include <utility>

#include "common/base/threads/mutex.h"
#include "common/base/threads/thread.h"

namespace waggle {

// The bytes, or other units, that many users of a replay server have of one limit. Thread-safe. No call but Close
// blocks. Shared pointers own it.
class MemoryAccount : public std::enable_shared_from_this<MemoryAccount> {
 public:
  // Gives its bytes back when the last copy is destroyed, by any thread, under any lock. May outlive the owners.
  using Share = std::shared_ptr<const void>;
  using Granted = std::function<void(Share)>;

  // The changing bytes of one user, given back at the end. Not thread-safe.
  class Hold {
   public:
    // Without an account it only keeps its number of bytes.
    explicit Hold(std::shared_ptr<MemoryAccount> account) : account_(std::move(account)) {}
    ~Hold() { Set(0); }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

    // May exceed the limit.
    void Set(int64_t bytes) {
      if (account_ != nullptr && bytes != bytes_) {
        account_->Add(bytes - bytes_);
      }
      bytes_ = bytes;
    }
    // False, with nothing changed, if the limit would be exceeded.
    bool TryGrow(int64_t bytes);
    int64_t bytes() const { return bytes_; }
    const MemoryAccount* account() const { return account_.get(); }

   private:
    const std::shared_ptr<MemoryAccount> account_;
    int64_t bytes_ = 0;
  };

  explicit MemoryAccount(int64_t limit = std::numeric_limits<int64_t>::max()) : limit_(limit) {}
  // If Await was ever called, Close must have been called before.
  ~MemoryAccount() { Close(); }
  MemoryAccount(const MemoryAccount&) = delete;
  MemoryAccount& operator=(const MemoryAccount&) = delete;

  int64_t limit() const { return limit_; }
  int64_t used() const { return used_.load(std::memory_order_relaxed); }
  bool over() const { return used() > limit_; }

  // Counts `bytes` more, or fewer if negative. May exceed the limit.
  void Add(int64_t bytes) {
    used_ += bytes;
    if (bytes < 0 && waiters_ > 0) {
      Wake();
    }
  }
  // Counts `bytes` more and returns their share. May exceed the limit.
  Share Take(int64_t bytes);
  // Null, with nothing counted, if the limit would be exceeded.
  Share TryTake(int64_t bytes);

  // Calls `granted` with a share: at once if there are enough bytes and no call waits, otherwise on the account's own
  // thread, first come, first served. There `granted` must neither throw nor take long. A call for more than the limit
  // is granted when nothing else is in use. The first argument is any address that identifies the caller.
  void Await(const void* who, int64_t bytes, Granted granted) ABSL_LOCKS_EXCLUDED(mutex_);
  // Drops the caller's waiting calls. A call that is being granted is not dropped.
  void Withdraw(const void* who) ABSL_LOCKS_EXCLUDED(mutex_);
  // Drops all waiting calls, and all later ones. No `granted` runs after it has returned. `granted` must not call it.
  void Close() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Waiter {
    const void* who = nullptr;
    int64_t bytes = 0;
    Granted granted;
  };

  // False, with nothing counted, if the limit would be exceeded. With `or_alone` it may be if nothing is in use.
  bool TryAdd(int64_t bytes, bool or_alone = false);
  // A share of bytes that are counted already.
  Share Counted(int64_t bytes);
  bool TryAddFirstLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !waiting_.empty() && TryAdd(waiting_.front().bytes, /*or_alone=*/true);
  }
  void Wake() ABSL_LOCKS_EXCLUDED(mutex_);
  // Grants waiting calls in their order.
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);

  const int64_t limit_;
  std::atomic<int64_t> used_{0};  // Atomic: counted for each item and batch, without a lock.
  // At least waiting_.size(). Atomic: read without a lock after used_ was lowered. Set before the used_ that makes a
  // call wait is read.
  std::atomic<int64_t> waiters_{0};
  Mutex mutex_;
  CondVar changed_;                                    // There may be bytes for the first waiting call; or closed_.
  std::list<Waiter> waiting_ ABSL_GUARDED_BY(mutex_);  // In their order.
  bool started_ ABSL_GUARDED_BY(mutex_) = false;       // thread_ is.
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  Thread thread_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace waggle
