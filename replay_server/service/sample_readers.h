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
  // How long one may take nothing of what it asked for, while others wait for the memory that this has.
  absl::Duration patience = absl::Minutes(1);
  // How long they wait before it is ended for that: a shortage that passes by itself ends nobody.
  absl::Duration shortage = absl::Seconds(5);

  // INVALID_ARGUMENT naming every field that is wrong.
  absl::Status Validate() const;
};

// Who has the memory that a server's sampled batches share, who waits for some, and who does not read: a sampler that
// was stopped in a debugger, or has simply left its stream open, would keep its part for ever, and a few of them all of
// it. Thread-safe.
class SampleReaders {
 public:
  // The reader of one stream. Tells what happens to it, from any thread, without a lock.
  class Reader {
   public:
    // A batch of so many bytes needs memory, has got it, and was sent.
    void Wants() { waiting_.fetch_add(1, std::memory_order_relaxed); }
    void Gets(int64_t bytes) {
      granted_.fetch_add(1, std::memory_order_relaxed);
      waiting_.fetch_sub(1, std::memory_order_relaxed);
      bytes_.fetch_add(bytes, std::memory_order_relaxed);
    }
    void GivesBack(int64_t bytes) { bytes_.fetch_sub(bytes, std::memory_order_relaxed); }
    // A message is handed to the transport, and the transport has taken one.
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
    // As of the last look, guarded by the lock of all: for how long nothing was granted to one that waits, or taken of
    // what was handed over.
    uint64_t granted_then_ = 0;
    uint64_t taken_then_ = 0;
    absl::Duration waited_;
    absl::Duration unread_;
  };

  explicit SampleReaders(SampleReadersOptions options) : options_(options) {}

  // `abort` ends the stream, and does nothing where that has ended; it is called by Tend.
  std::shared_ptr<Reader> Add(std::string table, std::string who, std::function<void(absl::Status)> abort)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Looks at everyone, and ends those who do not read while others wait: with UNAVAILABLE, for they may come back. To
  // be called about once a second, with the time of a steady clock; a step of more than some seconds counts as that
  // many, because a process that was stopped has seen nothing.
  void Tend(absl::Time now) ABSL_LOCKS_EXCLUDED(mutex_);

  // Tells the pictures of those tables whose samplers wait for memory, as of the last Tend. All have `limit` bytes.
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
