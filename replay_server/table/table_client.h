#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/threads/mutex.h"

namespace waggle {

// A table's writer or sampler, with its activity. A writer of several tables is a client of each. Thread-safe.
class TableClient {
 public:
  enum class Kind { kWriter, kSampler };

  TableClient(Kind kind, std::string name) : kind_(kind), name_(std::move(name)) {}

  Kind kind() const { return kind_; }
  const std::string& name() const { return name_; }

  // Counts inserted or sampled items at a time by CoarseSteadyNanoseconds(). Called under the table's lock for each
  // block and batch, so it uses no expensive atomic operations.
  void Count(int64_t items, int64_t now_ns);
  int64_t items() const { return items_.load(std::memory_order_relaxed); }
  // By SteadyElapsed(); the infinite past if never.
  absl::Duration last_counted() const;

  // Notes how many items a sampler polls for without a waiting request; 0 if none. Called by its stream only.
  void NoteSampleRequest(uint32_t waits_for, int64_t now_ns);
  uint32_t requested_items() const { return requested_items_.load(std::memory_order_relaxed); }
  // Start of polling, by SteadyElapsed().
  absl::Duration requested_since() const;

  // True if connected. `left` is when it disconnected, by SteadyElapsed(); the infinite past if never.
  bool present() const { return connections_.load(std::memory_order_relaxed) > 0; }
  absl::Duration left() const;

  // A connection of the clients for as long as the object lives.
  class Connection {
   public:
    Connection() = default;
    explicit Connection(std::vector<std::shared_ptr<TableClient>> clients);
    Connection(Connection&&) = default;
    Connection& operator=(Connection&& other) noexcept;
    ~Connection() { End(); }

   private:
    void End();
    std::vector<std::shared_ptr<TableClient>> clients_;
  };

 private:
  const Kind kind_;
  const std::string name_;
  // Atomic: read while other threads write.
  std::atomic<int64_t> items_{0};
  std::atomic<int64_t> last_ns_{0};  // 0 if never.
  std::atomic<uint32_t> requested_items_{0};
  std::atomic<int64_t> requested_since_ns_{0};
  std::atomic<int64_t> connections_{0};
  std::atomic<int64_t> left_ns_{0};
};

// The present and former clients of a table. Thread-safe. Has its own lock, so it does not block the table.
class TableClients {
 public:
  // Number of former clients that are kept.
  static constexpr size_t kMaxGone = 64;

  // Returns a former client of this name with its counts, or a new one.
  std::shared_ptr<TableClient> Add(TableClient::Kind kind, absl::string_view name) ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<std::shared_ptr<const TableClient>> all() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void ForgetLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  std::vector<std::shared_ptr<TableClient>> clients_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace waggle
