#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "common/base/mutex.h"
#include "replay_server/rows/cold_rows.h"
#include "replay_server/rows/row_clock.h"

namespace waggle {

struct TierSignal;

// The rows that tables with a memory_limit keep: each table has a tier, and each block of rows belongs to one. Where a
// tier's rows in memory are more than its limit, those that nobody has read for a while are written to disk by one
// thread for all tiers (ChunkTiers), and let go of; what is on disk already is let go of at once. A RowClock says which
// these are.
//
// Inserts wait for that thread, and readers for each other, so that the rows in memory stay below
//     limit + limit / 8 + the rows of one reader + what writers have sent that is not acknowledged yet,
// however slow the disk is. Thread-safe. Outlives its table, as blocks do.
class ChunkTier {
 public:
  // `table` is for messages. Nothing is written or read before ChunkTiers has it.
  ChunkTier(std::string table, int64_t limit) : table_(std::move(table)), limit_(limit) {}

  int64_t limit() const { return limit_.load(std::memory_order_relaxed); }
  // Raised or lowered: what is too much then leaves soon.
  void SetLimit(int64_t limit) ABSL_LOCKS_EXCLUDED(mutex_);
  // What may be above the limit until it is written, and what a reader should pin at a time.
  int64_t margin() const { return limit() / 8; }

  // Calls `answer` with OK as soon as the rows in memory are not above the limit by more than the margin: here and now,
  // or later from the tiers' thread. With CANCELLED once that has stopped.
  using Answer = std::function<void(const absl::Status&)>;
  void AfterRoom(Answer answer) ABSL_LOCKS_EXCLUDED(mutex_);

  struct Info {
    int64_t memory_bytes = 0;  // Of rows in memory.
    int64_t disk_bytes = 0;    // Of rows that are on disk only.
    int64_t reads = 0;         // Of blocks, since the start.
    int64_t writes = 0;
    int64_t inserts_waiting = 0;  // Answers that AfterRoom holds back.
    int64_t readers_waiting = 0;  // For memory, in Pin.
    absl::Status status;          // Why nothing can be written just now.
  };
  Info info() const ABSL_LOCKS_EXCLUDED(mutex_);

  // For blocks.

  // A block's rows, in memory, are pinned by their maker until EndMaking; those of a block that is on disk.
  void Add(TieredRows* rows, char* data) ABSL_LOCKS_EXCLUDED(mutex_);
  void AddCold(TieredRows* rows) ABSL_LOCKS_EXCLUDED(mutex_);
  void EndMaking(TieredRows* rows) ABSL_LOCKS_EXCLUDED(mutex_);
  // Nothing refers to the block any more.
  void Remove(TieredRows* rows) ABSL_LOCKS_EXCLUDED(mutex_);

  // For PinnedRows. All rows are of this tier, and of different blocks, which the caller holds.

  // Reads what is not in memory. Where there is no room for that it waits for those who have rows pinned, and goes on
  // when nobody has: so nobody may have who waits for the caller. Who comes meanwhile waits behind it, so that nobody
  // waits for ever who needs much. It never waits for writing. DATA_LOSS for rows that cannot be read, UNAVAILABLE
  // where they may be later, for files or memory have run out; with nothing pinned.
  absl::Status Pin(absl::Span<TieredRows* const> rows) ABSL_LOCKS_EXCLUDED(mutex_);
  // Does not wait: false, with nothing pinned, unless all are in memory.
  bool TryPin(absl::Span<TieredRows* const> rows) ABSL_LOCKS_EXCLUDED(mutex_);
  // The same for who can also wait elsewhere: false too where others wait in Pin, whom it would go past.
  bool TryPinInTurn(absl::Span<TieredRows* const> rows) ABSL_LOCKS_EXCLUDED(mutex_);
  void Unpin(absl::Span<TieredRows* const> rows) ABSL_LOCKS_EXCLUDED(mutex_);

  // For ChunkTiers.

  void Attach(std::shared_ptr<ColdRows> disk, std::shared_ptr<TierSignal> signal) ABSL_LOCKS_EXCLUDED(mutex_);
  // Writes some of what has to leave. Returns whether there is more; the error leaves all as it was.
  absl::StatusOr<bool> Spill() ABSL_LOCKS_EXCLUDED(mutex_);
  // Takes the records of blocks that are gone off the disk.
  void DeleteGone() ABSL_LOCKS_EXCLUDED(mutex_);
  void AnswerWaiting() ABSL_LOCKS_EXCLUDED(mutex_);
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  std::shared_ptr<ColdRows> disk() const ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    return disk_;
  }
  int64_t HardLimit() const { return limit() + margin(); }
  // See RowClock::MakeRoom. Tells those who wait for that.
  void MakeRoomLocked(int64_t target, FreedRows* freed) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Some of what has to leave, held; those of it that are not on disk yet are in `blocks` too.
  std::vector<TieredRows*> TakeCondemned(std::vector<ColdBlock>* blocks) ABSL_LOCKS_EXCLUDED(mutex_);
  // Of these so many were written, or none. Returns whether there is more to write.
  bool EndWriting(const std::vector<TieredRows*>& batch, const absl::Status& status, size_t written)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Pins them as soon as those that are missing may be read; sets `missing` to those of them that nobody else reads
  // already.
  void TakeMissing(absl::Span<TieredRows* const> rows, std::vector<TieredRows*>* missing) ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns how many bytes these have.
  int64_t FindMissingLocked(absl::Span<TieredRows* const> rows, std::vector<TieredRows*>* missing) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Reads those that are missing; then waits for those that others read. Returns whether all are there.
  absl::StatusOr<bool> Load(absl::Span<TieredRows* const> rows, const std::vector<TieredRows*>& missing)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends the load of these.
  absl::Status Read(absl::Span<TieredRows* const> missing) ABSL_LOCKS_EXCLUDED(mutex_);
  void EndLoad(absl::Span<TieredRows* const> missing, absl::Span<const ColdBlock> blocks, bool read)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status WhyNotRead(const absl::Status& status) const;
  bool TryPinLocked(absl::Span<TieredRows* const> rows) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool HasRoomLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return clock_.memory_bytes() <= HardLimit(); }
  void NotifyLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string table_;
  std::atomic<int64_t> limit_;  // Atomic: asked for once a gather.
  mutable Mutex mutex_;         // Calls nothing of others' but TierSignal.
  CondVar changed_;             // Rows have come or gone, or a reader has.
  std::shared_ptr<ColdRows> disk_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<TierSignal> signal_ ABSL_GUARDED_BY(mutex_);
  RowClock clock_ ABSL_GUARDED_BY(mutex_);
  int64_t reads_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t writes_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t readers_ ABSL_GUARDED_BY(mutex_) = 0;  // Who have rows pinned.
  // Readers come first, first served: each draws the next turn, and goes on when all before are over.
  uint64_t turns_given_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t turns_over_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<ColdRows::Gone> gone_ ABSL_GUARDED_BY(mutex_);
  std::vector<Answer> answers_ ABSL_GUARDED_BY(mutex_);
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

// In words, why inserts wait for the disk. The status is not OK.
std::string WhyTierWaits(const ChunkTier::Info& info);

}  // namespace waggle
