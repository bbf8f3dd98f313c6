#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "common/base/threads/mutex.h"
#include "replay_server/rows/cold_rows.h"
#include "replay_server/rows/row_clock.h"

namespace waggle {

struct TierSignal;

// The rows of one table with a memory_limit. If the rows in memory exceed the limit, one thread for all tiers
// (ChunkTiers) writes rows that were not read lately to disk and frees them. Rows that are on disk already are freed at
// once. RowClock chooses the rows.
//
// Inserts wait for that thread, and readers for each other. So the rows in memory stay below
//     limit + limit / 8 + the rows of one reader + the rows that writers have sent and that are not acknowledged yet,
// however slow the disk is. Thread-safe. Outlives its table, as blocks do.
class ChunkTier {
 public:
  // `table` is for messages. Nothing is written or read before ChunkTiers::Attach.
  ChunkTier(std::string table, int64_t limit) : table_(std::move(table)), limit_(limit) {}

  int64_t limit() const { return limit_.load(std::memory_order_relaxed); }
  // Rows above a lower limit leave soon.
  void SetLimit(int64_t limit) ABSL_LOCKS_EXCLUDED(mutex_);
  // Bytes that may exceed the limit until they are written. A reader should pin no more than this at a time.
  int64_t margin() const { return limit() / 8; }

  // Calls `answer` with OK once the rows in memory are at most limit + margin, maybe at once; with CANCELLED after
  // Stop. Later calls are made by the tiers' thread.
  using Answer = std::function<void(const absl::Status&)>;
  void AfterRoom(Answer answer) ABSL_LOCKS_EXCLUDED(mutex_);

  struct Info {
    int64_t memory_bytes = 0;  // Rows in memory.
    int64_t disk_bytes = 0;    // Rows that are on disk only.
    int64_t reads = 0;         // Blocks since the start.
    int64_t writes = 0;
    int64_t inserts_waiting = 0;  // Answers that AfterRoom holds back.
    int64_t readers_waiting = 0;  // Callers of Pin that wait for memory.
    absl::Status status;          // Why the last write failed.
  };
  Info info() const ABSL_LOCKS_EXCLUDED(mutex_);

  // For blocks.

  // The maker of an in-memory block has its rows pinned until EndMaking. The rows of AddCold are on disk.
  void Add(TieredRows* rows, char* data) ABSL_LOCKS_EXCLUDED(mutex_);
  void AddCold(TieredRows* rows) ABSL_LOCKS_EXCLUDED(mutex_);
  void EndMaking(TieredRows* rows) ABSL_LOCKS_EXCLUDED(mutex_);
  // Called when nothing refers to the block any more.
  void Remove(TieredRows* rows) ABSL_LOCKS_EXCLUDED(mutex_);

  // For PinnedRows. All `rows` are of this tier and of different blocks, which the caller holds.

  // Pins rows and reads those that are not in memory. If they have no room, waits until other readers unpin theirs, and
  // continues if no reader has rows pinned. So a thread that has rows pinned must not wait for the caller. Later calls
  // queue behind a waiting one, so large reads do not starve. Never waits for writing. DATA_LOSS if rows cannot be
  // read, UNAVAILABLE if files or memory have run out. Errors pin nothing.
  absl::Status Pin(absl::Span<TieredRows* const> rows) ABSL_LOCKS_EXCLUDED(mutex_);
  // Does not wait. Returns false and pins nothing unless all rows are in memory.
  bool TryPin(absl::Span<TieredRows* const> rows) ABSL_LOCKS_EXCLUDED(mutex_);
  // The same for callers that can wait elsewhere. Also false if others wait in Pin, so that it does not overtake them.
  bool TryPinInTurn(absl::Span<TieredRows* const> rows) ABSL_LOCKS_EXCLUDED(mutex_);
  void Unpin(absl::Span<TieredRows* const> rows) ABSL_LOCKS_EXCLUDED(mutex_);

  // For ChunkTiers.

  void Attach(std::shared_ptr<ColdRows> disk, std::shared_ptr<TierSignal> signal) ABSL_LOCKS_EXCLUDED(mutex_);
  // Writes a batch of condemned rows. Returns true if more remain. An error changes nothing.
  absl::StatusOr<bool> Spill() ABSL_LOCKS_EXCLUDED(mutex_);
  // Deletes the records of removed blocks from the disk.
  void DeleteGone() ABSL_LOCKS_EXCLUDED(mutex_);
  void AnswerWaiting() ABSL_LOCKS_EXCLUDED(mutex_);
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  std::shared_ptr<ColdRows> disk() const ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    return disk_;
  }
  int64_t HardLimit() const { return limit() + margin(); }
  // See RowClock::MakeRoom. Also wakes the thread and readers that wait for it.
  void MakeRoomLocked(int64_t target, FreedRows* freed) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes a batch of condemned rows and holds their blocks. `blocks` gets those that are not on disk yet.
  std::vector<TieredRows*> TakeCondemned(std::vector<ColdBlock>* blocks) ABSL_LOCKS_EXCLUDED(mutex_);
  // `written` of the batch were written, or none if `status` is an error. Returns true if more remain.
  bool EndWriting(const std::vector<TieredRows*>& batch, const absl::Status& status, size_t written)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Pins `rows` as soon as the missing ones may be read. `missing` gets the ones that no other reader loads.
  void TakeMissing(absl::Span<TieredRows* const> rows, std::vector<TieredRows*>* missing) ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns the bytes of `missing`.
  int64_t FindMissingLocked(absl::Span<TieredRows* const> rows, std::vector<TieredRows*>* missing) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Reads `missing`, then waits for rows that other readers load. Returns true if all rows are in memory.
  absl::StatusOr<bool> Load(absl::Span<TieredRows* const> rows, const std::vector<TieredRows*>& missing)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends the load of `missing`.
  absl::Status Read(absl::Span<TieredRows* const> missing) ABSL_LOCKS_EXCLUDED(mutex_);
  void EndLoad(absl::Span<TieredRows* const> missing, absl::Span<const ColdBlock> blocks, bool read)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status WhyNotRead(const absl::Status& status) const;
  bool TryPinLocked(absl::Span<TieredRows* const> rows) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool HasRoomLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return clock_.memory_bytes() <= HardLimit(); }
  void NotifyLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string table_;
  std::atomic<int64_t> limit_;  // Atomic: read once a gather.
  mutable Mutex mutex_;         // Innermost but for TierSignal's.
  CondVar changed_;             // Rows or readers have come or gone.
  std::shared_ptr<ColdRows> disk_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<TierSignal> signal_ ABSL_GUARDED_BY(mutex_);
  RowClock clock_ ABSL_GUARDED_BY(mutex_);
  int64_t reads_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t writes_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t readers_ ABSL_GUARDED_BY(mutex_) = 0;  // Number of readers that have rows pinned.
  // Readers are served in order: each draws a turn, and proceeds when all earlier turns are over.
  uint64_t turns_given_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t turns_over_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<ColdRows::Gone> gone_ ABSL_GUARDED_BY(mutex_);
  std::vector<Answer> answers_ ABSL_GUARDED_BY(mutex_);
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

// Explains why inserts wait for the disk. The status of `info` must not be OK.
std::string WhyTierWaits(const ChunkTier::Info& info);

}  // namespace waggle
