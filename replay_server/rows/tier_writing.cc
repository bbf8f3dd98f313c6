#include <string>
#include <utility>
#include <vector>

#include "common/base/failpoint.h"
#include "common/base/log.h"
#include "replay_server/rows/chunk_tier.h"
#include "replay_server/rows/chunk_tiers.h"

// Writes a tier's rows to disk, deletes them, and answers waiting inserts.

namespace waggle {
namespace {

// Bytes of rows in one write.
constexpr size_t kBatchBytes = size_t{4} << 20;

}  // namespace

void ChunkTier::AfterRoom(Answer answer) {
  absl::Status status;
  {
    MutexLock lock(&mutex_);
    if (stopped_) {
      status = absl::CancelledError("the replay server is stopping");
    } else if (!HasRoomLocked() || !answers_.empty()) {
      answers_.push_back(std::move(answer));
      NotifyLocked();
      return;
    }
  }
  answer(status);
}

std::vector<TieredRows*> ChunkTier::TakeCondemned(std::vector<ColdBlock>* blocks) {
  std::vector<TieredRows*> batch;
  FreedRows freed;
  MutexLock lock(&mutex_);
  if (stopped_) {
    return batch;
  }
  MakeRoomLocked(limit(), &freed);
  for (size_t bytes = 0; bytes < kBatchBytes && clock_.any_condemned();) {
    TieredRows* const rows = clock_.TakeCondemned();
    if (!TryHoldBlock(rows->block)) {
      continue;  // Its Remove is about to be called.
    }
    batch.push_back(rows);
    if (OnDisk(*rows)) {
      continue;  // The journal has written it meanwhile.
    }
    if (rows->durable == nullptr && rows->cold_id == 0) {
      rows->cold_id = signal_->NewId();
    }
    blocks->push_back({rows->durable, rows->cold_id, rows->data, rows->bytes});
    bytes += rows->bytes;
  }
  return batch;
}

bool ChunkTier::EndWriting(const std::vector<TieredRows*>& batch, const absl::Status& status, size_t written) {
  FreedRows freed;
  MutexLock lock(&mutex_);
  for (TieredRows* const rows : batch) {
    if (!status.ok()) {
      clock_.WriteLater(rows);
      continue;
    }
    if (rows->durable != nullptr) {
      rows->durable->committed.store(true, std::memory_order_release);
    }
    clock_.EndWriting(rows, &freed);
  }
  writes_ += static_cast<int64_t>(written);
  status_ = status;
  changed_.SignalAll();
  return clock_.any_condemned();
}

absl::StatusOr<bool> ChunkTier::Spill() {
  std::vector<ColdBlock> blocks;
  const std::vector<TieredRows*> batch = TakeCondemned(&blocks);
  if (batch.empty()) {
    return false;
  }
  const bool was_ok = info().status.ok();
  absl::Status status = WAGGLE_FAILPOINT("tier.before_write");
  if (status.ok() && !blocks.empty()) {
    status = disk()->Write(blocks);
  }
  const bool more = EndWriting(batch, status, status.ok() ? blocks.size() : 0);
  if (status.ok() && !was_ok) {
    LogInfo("table \"", table_, "\": rows can be written to disk again");
  } else if (!status.ok() && was_ok) {
    LogError("table \"", table_,
             "\": rows past its memory_limit cannot be written to disk; inserts wait: ", status.message());
  }
  WAGGLE_FAILPOINT("tier.after_write").IgnoreError();
  for (TieredRows* const rows : batch) {
    ReleaseBlock(rows->block);  // May free the block.
  }
  return status.ok() ? absl::StatusOr<bool>(more) : absl::StatusOr<bool>(status);
}

void ChunkTier::DeleteGone() {
  std::vector<ColdRows::Gone> gone;
  {
    MutexLock lock(&mutex_);
    gone.swap(gone_);
  }
  if (gone.empty()) {
    return;
  }
  if (const absl::Status status = disk()->Delete(gone); !status.ok()) {
    LogDebug("table \"", table_, "\": rows that are gone cannot be deleted from the disk: ", status.message());
    MutexLock lock(&mutex_);
    gone_.insert(gone_.end(), gone.begin(), gone.end());
  }
}

void ChunkTier::AnswerWaiting() {
  std::vector<Answer> answers;
  absl::Status status;
  {
    MutexLock lock(&mutex_);
    if (stopped_) {
      status = absl::CancelledError("the replay server is stopping");
    } else if (!HasRoomLocked()) {
      return;
    }
    answers.swap(answers_);
  }
  for (const Answer& answer : answers) {
    answer(status);
  }
}

void ChunkTier::Stop() {
  {
    MutexLock lock(&mutex_);
    stopped_ = true;
  }
  AnswerWaiting();
}

}  // namespace waggle
