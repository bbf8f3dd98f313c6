#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/threads/mutex.h"
#include "replay_server/table/table_picture.h"

namespace waggle {

struct SampleReadersOptions {
  // The longest time for which a sampler may read nothing while others wait for the memory of its batches.
  absl::Duration patience = absl::Minutes(1);
  // The time for which others must have waited. A short shortage ends no stream.
  absl::Duration shortage = absl::Seconds(5);

  // INVALID_ARGUMENT, naming every wrong field.
  absl::Status Validate() const;
};

// Records which samplers hold the shared memory of a server's sampled batches, wait for it, or do not read. Samplers
// that hang in a debugger, or leave their streams open, would keep all of it for ever. Thread-safe.
class SampleReaders {
 public:
  // The counts of one stream. Any thread may call it, without a lock.
  class Reader {
   public:
    // For each batch: it needs memory, has got it, was sent.
    void Wants() { waiting_.fetch_add(1, std::memory_order_relaxed); }
    void Gets(int64_t bytes) {
      granted_.fetch_add(1, std::memory_order_relaxed);
      waiting_.fetch_sub(1, std::memory_order_relaxed);
      bytes_.fetch_add(bytes, std::memory_order_relaxed);
    }
    void GivesBack(int64_t bytes) { bytes_.fetch_sub(bytes, std::memory_order_relaxed); }
    // For each message: it was handed to the transport, was sent by it.
    void Handed() { handed_.fetch_add(1, std::memory_order_relaxed); }
    void Took() {
      taken_.fetch_add(1, std::memory_order_relaxed);
      handed_.fetch_sub(1, std::memory_order_relaxed);
    }

   private:
    friend class SampleReaders;
    Reader(std::string table, std::string who, std::function<void(absl::Status)> abort)
        : table_(std::move(table)), who_(std::move(who)), abort_(std::move(abort)) {}

    const std::string table_;
    const std::string who_;
    const std::function<void(absl::Status)> abort_;
    // Atomic: counted without a lock.
    std::atomic<int64_t> waiting_{0};
    std::atomic<uint64_t> granted_{0};
    std::atomic<int64_t> bytes_{0};
    std::atomic<int64_t> handed_{0};
    std::atomic<uint64_t> taken_{0};
    // State of the last Tend, guarded by SampleReaders::mutex_. `waited_`: time for which it waited without a grant.
    // `unread_`: time for which the transport sent none of its messages.
    uint64_t granted_then_ = 0;
    uint64_t taken_then_ = 0;
    absl::Duration waited_;
    absl::Duration unread_;
  };

  explicit SampleReaders(SampleReadersOptions options) : options_(options) {}

  // `abort`, called by Tend, ends the stream; it must do nothing if the stream has ended.
  std::shared_ptr<Reader> Add(std::string table, std::string who, std::function<void(absl::Status)> abort)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Ends samplers that do not read while others wait, with UNAVAILABLE, so that they may come back. Must be called
  // about once a second with the time of a steady clock. A step of more than a few seconds counts as a few seconds:
  // this process may have been stopped.
  void Tend(absl::Time now) ABSL_LOCKS_EXCLUDED(mutex_);

  // Fills in the pictures of tables whose samplers wait for memory. Times are from the last Tend. `limit` is in bytes.
  void Describe(int64_t limit, std::vector<TablePicture>* pictures) const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  std::vector<std::shared_ptr<Reader>> PresentLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SweepLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const SampleReadersOptions options_;
  mutable Mutex mutex_;
  absl::Time last_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  std::vector<std::weak_ptr<Reader>> readers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace waggle
