#include "replay_server/rows/chunk_tier.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "common/base/failpoint.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "replay_server/base/refusal_reasons.h"
#include "replay_server/rows/chunk_tiers.h"

namespace waggle {
namespace {

// Wakes the thread when so many records wait to be deleted.
constexpr size_t kManyGone = 256;
// Bytes of rows in one write.
constexpr size_t kBatchBytes = size_t{4} << 20;

// The caller holds their tier's lock.
bool AllInMemory(absl::Span<TieredRows* const> rows) {
  return std::all_of(rows.begin(), rows.end(), [](const TieredRows* each) { return each->data != nullptr; });
}

}  // namespace

std::string WhyTierWaits(const ChunkTier::Info& info) {
  return absl::StrCat("inserts wait: rows past memory_limit cannot be written to disk, and go on when they can: ",
                      info.status.message());
}

void ChunkTier::SetLimit(int64_t limit) {
  MutexLock lock(&mutex_);
  limit_.store(limit, std::memory_order_relaxed);
  changed_.SignalAll();
  NotifyLocked();
}

ChunkTier::Info ChunkTier::info() const {
  MutexLock lock(&mutex_);
  Info info;
  info.memory_bytes = clock_.memory_bytes();
  info.disk_bytes = clock_.bytes() - clock_.memory_bytes();
  info.reads = reads_;
  info.writes = writes_;
  info.readers_waiting = static_cast<int64_t>(turns_given_ - turns_over_);
  info.inserts_waiting = static_cast<int64_t>(answers_.size());
  info.status = status_;
  return info;
}

void ChunkTier::NotifyLocked() {
  if (signal_ != nullptr) {
    signal_->Notify();
  }
}

void ChunkTier::MakeRoomLocked(int64_t target, FreedRows* freed) {
  const int64_t before = clock_.memory_bytes();
  const bool had_condemned = clock_.any_condemned();
  clock_.MakeRoom(target, freed);
  if (clock_.memory_bytes() < before) {
    changed_.SignalAll();
  }
  if ((!had_condemned && clock_.any_condemned()) || (!answers_.empty() && HasRoomLocked())) {
    NotifyLocked();
  }
}

void ChunkTier::Add(TieredRows* rows, char* data) {
  FreedRows freed;
  MutexLock lock(&mutex_);
  rows->pins = 1;
  clock_.Add(rows, data);
  MakeRoomLocked(limit(), &freed);
}

void ChunkTier::AddCold(TieredRows* rows) {
  MutexLock lock(&mutex_);
  clock_.AddCold(rows);
}

void ChunkTier::EndMaking(TieredRows* rows) {
  FreedRows freed;
  MutexLock lock(&mutex_);
  --rows->pins;
  MakeRoomLocked(limit(), &freed);
}

void ChunkTier::Remove(TieredRows* rows) {
  FreedRows freed;
  MutexLock lock(&mutex_);
  clock_.Remove(rows, &freed);
  if (!freed.empty()) {
    changed_.SignalAll();
  }
  // The journal deletes the blocks that it has referred to.
  if (rows->cold_id != 0) {
    gone_.push_back({rows->cold_id, /*durable=*/false});
  } else if (rows->durable != nullptr && rows->durable->committed && !rows->durable->stored) {
    gone_.push_back({rows->durable->id, /*durable=*/true});
  }
  if (gone_.size() == kManyGone || (!answers_.empty() && HasRoomLocked())) {
    NotifyLocked();
  }
}

absl::Status ChunkTier::Pin(absl::Span<TieredRows* const> rows) {
  std::vector<TieredRows*> missing;
  missing.reserve(rows.size());  // Allocated outside the lock.
  TakeMissing(rows, &missing);
  absl::Cleanup unpin = [this, rows] { Unpin(rows); };
  for (;;) {
    WAGGLE_ASSIGN_OR_RETURN(const bool loaded, Load(rows, missing));
    if (loaded) {
      std::move(unpin).Cancel();
      return absl::OkStatus();
    }
    // Another reader failed to load its rows; this one may succeed.
    MutexLock lock(&mutex_);
    FindMissingLocked(rows, &missing);
    clock_.BeginLoad(missing);
  }
}

int64_t ChunkTier::FindMissingLocked(absl::Span<TieredRows* const> rows, std::vector<TieredRows*>* missing) const {
  missing->clear();
  int64_t bytes = 0;
  for (TieredRows* const each : rows) {
    if (each->data == nullptr && !each->loading) {
      missing->push_back(each);
      bytes += static_cast<int64_t>(each->bytes);
    }
  }
  return bytes;
}

void ChunkTier::TakeMissing(absl::Span<TieredRows* const> rows, std::vector<TieredRows*>* missing) {
  std::optional<uint64_t> turn;
  for (;;) {
    FreedRows freed;
    MutexLock lock(&mutex_);
    turn = turn.has_value() ? turn : turns_given_++;
    if (*turn != turns_over_) {
      changed_.Wait(&mutex_);
      continue;
    }
    const int64_t bytes = FindMissingLocked(rows, missing);
    for (TieredRows* const each : rows) {
      ++each->pins;
      each->recent = true;
    }
    if (!missing->empty()) {
      MakeRoomLocked(limit() - bytes, &freed);
      // Condemned rows leave only as fast as the disk writes.
      clock_.DropWritten(HardLimit() - bytes, &freed);
    }
    if (missing->empty() || clock_.memory_bytes() + bytes <= HardLimit() || readers_ == 0) {
      ++readers_;
      clock_.BeginLoad(*missing);
      if (++turns_over_ != turns_given_) {
        changed_.SignalAll();
      }
      return;
    }
    // Unpinned while it waits: otherwise waiting readers could block each other.
    for (TieredRows* const each : rows) {
      --each->pins;
    }
    if (freed.empty()) {
      changed_.Wait(&mutex_);
    }
  }
}

absl::Status ChunkTier::Read(absl::Span<TieredRows* const> missing) {
  std::vector<ColdBlock> blocks;
  blocks.reserve(missing.size());
  for (const TieredRows* const each : missing) {  // Their ids are constant now.
    blocks.push_back({each->durable, each->cold_id, AllocateRows(each->bytes), each->bytes});
  }
  absl::Status status = WAGGLE_FAILPOINT("tier.before_read");
  if (status.ok()) {
    const std::shared_ptr<ColdRows> disk = this->disk();
    status = disk != nullptr ? disk->Read(blocks) : absl::CancelledError("nothing is read yet");
  }
  EndLoad(missing, blocks, status.ok());
  return status;
}

void ChunkTier::EndLoad(absl::Span<TieredRows* const> missing, absl::Span<const ColdBlock> blocks, bool read) {
  FreedRows freed;
  MutexLock lock(&mutex_);
  for (size_t i = 0; i < missing.size(); ++i) {
    if (read) {
      clock_.EndLoad(missing[i], blocks[i].data);
      ++reads_;
    } else {
      clock_.GiveLoadUp(missing[i]);
      freed.Add(blocks[i].data);
    }
  }
  changed_.SignalAll();
}

absl::StatusOr<bool> ChunkTier::Load(absl::Span<TieredRows* const> rows, const std::vector<TieredRows*>& missing) {
  if (const absl::Status status = missing.empty() ? absl::OkStatus() : Read(missing); !status.ok()) {
    return WhyNotRead(status);
  }
  MutexLock lock(&mutex_);
  while (std::any_of(rows.begin(), rows.end(), [](const TieredRows* each) { return each->loading; })) {
    changed_.Wait(&mutex_);
  }
  return AllInMemory(rows);
}

absl::Status ChunkTier::WhyNotRead(const absl::Status& status) const {
  const std::string text =
      absl::StrCat("table \"", table_, "\": rows that are on disk cannot be read: ", status.message());
  if (absl::IsCancelled(status)) {
    return absl::CancelledError(text);
  }
  // The server's memory or files have run out: callers can retry.
  if (absl::IsResourceExhausted(status) || absl::IsUnavailable(status)) {
    return Refusal(absl::StatusCode::kUnavailable, reasons::kDisk, text);
  }
  return absl::DataLossError(text);
}

bool ChunkTier::TryPin(absl::Span<TieredRows* const> rows) {
  MutexLock lock(&mutex_);
  return TryPinLocked(rows);
}

bool ChunkTier::TryPinInTurn(absl::Span<TieredRows* const> rows) {
  MutexLock lock(&mutex_);
  return turns_over_ == turns_given_ && TryPinLocked(rows);
}

bool ChunkTier::TryPinLocked(absl::Span<TieredRows* const> rows) {
  if (!AllInMemory(rows)) {
    return false;
  }
  for (TieredRows* const each : rows) {
    ++each->pins;
    each->recent = true;
  }
  ++readers_;
  return true;
}

void ChunkTier::Unpin(absl::Span<TieredRows* const> rows) {
  FreedRows freed;
  MutexLock lock(&mutex_);
  for (TieredRows* const each : rows) {
    --each->pins;
  }
  --readers_;
  MakeRoomLocked(limit(), &freed);
  changed_.SignalAll();
}

void ChunkTier::Attach(std::shared_ptr<ColdRows> disk, std::shared_ptr<TierSignal> signal) {
  MutexLock lock(&mutex_);
  disk_ = std::move(disk);
  signal_ = std::move(signal);
}

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
