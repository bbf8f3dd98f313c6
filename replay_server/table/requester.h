#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"

namespace waggle {

// Somebody who inserts into a table or samples from it, for people who ask what it waits for, and for whom. A writer
// has one for each of its tables. Thread-safe.
class Requester {
 public:
  enum class Kind { kWriter, kSampler };

  Requester(Kind kind, std::string name) : kind_(kind), name_(std::move(name)) {}

  Kind kind() const { return kind_; }
  const std::string& name() const { return name_; }

  // Something was done for it: items inserted, or sampled; by CoarseSteadyNanoseconds(). Called under its table's lock,
  // for every block and every batch: nothing here is an atomic operation that costs.
  void Count(int64_t items, int64_t now_ns);
  int64_t items() const { return items_.load(std::memory_order_relaxed); }
  // By SteadyElapsed(); the infinite past where nothing was.
  absl::Duration last_counted() const;

  // It looks again and again whether it may have about so many items, without a request that waits; 0: it does not.
  // Called by its stream alone.
  void Looks(uint32_t waits_for, int64_t now_ns);
  uint32_t looks_for() const { return looks_for_.load(std::memory_order_relaxed); }
  // Since when, by SteadyElapsed().
  absl::Duration looks_since() const;

  // Whether it is connected; if not, since when (by SteadyElapsed(); the infinite past where it never was).
  bool present() const { return connections_.load(std::memory_order_relaxed) > 0; }
  absl::Duration left() const;

  // A connection, from its construction to its destruction.
  class Presence {
   public:
    Presence() = default;
    explicit Presence(std::vector<std::shared_ptr<Requester>> requesters);
    Presence(Presence&&) = default;
    Presence& operator=(Presence&& other) noexcept;
    ~Presence() { End(); }

   private:
    void End();
    std::vector<std::shared_ptr<Requester>> requesters_;
  };

 private:
  const Kind kind_;
  const std::string name_;
  // Atomic, because they are read while others write.
  std::atomic<int64_t> items_{0};
  std::atomic<int64_t> last_ns_{0};  // 0: never.
  std::atomic<uint32_t> looks_for_{0};
  std::atomic<int64_t> looks_since_ns_{0};
  std::atomic<int64_t> connections_{0};
  std::atomic<int64_t> left_ns_{0};
};

// All who are, or were, at one table. Thread-safe, with a lock of its own: nothing here holds up the table.
class Requesters {
 public:
  // Of those who have gone away this many are remembered.
  static constexpr size_t kMaxGone = 64;

  // One of this name that has gone goes on, with its counts; otherwise a new one.
  std::shared_ptr<Requester> Add(Requester::Kind kind, absl::string_view name) ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<std::shared_ptr<const Requester>> all() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void ForgetLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  std::vector<std::shared_ptr<Requester>> requesters_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace waggle
