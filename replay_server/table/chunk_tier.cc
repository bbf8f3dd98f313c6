#include "replay_server/table/chunk_tier.h"

#include <new>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/failpoint.h"
#include "common/base/log.h"
#include "replay_server/table/chunk_tiers.h"

namespace waggle {
namespace {

constexpr std::align_val_t kAlignment{64};
// Of one write.
constexpr size_t kBatchBytes = size_t{4} << 20;
// So many records of blocks that are gone are worth waking the thread for.
constexpr size_t kManyGone = 256;

bool OnDisk(const TieredRows& rows) {
  return rows.written || (rows.durable != nullptr && rows.durable->committed.load(std::memory_order_acquire));
}

}  // namespace

char* AllocateRows(size_t bytes) {
  return static_cast<char*>(::operator new(bytes, kAlignment, std::nothrow));
}

void FreeRows(char* data) {
  ::operator delete(data, kAlignment);
}

std::string WhyTierWaits(const ChunkTier::Info& info) {
  return absl::StrCat("inserts wait: rows past memory_limit cannot be written to disk, and go on when they can: ",
                      info.status.message());
}

class ChunkTier::Freed {
 public:
  Freed() = default;
  Freed(const Freed&) = delete;
  Freed& operator=(const Freed&) = delete;
  ~Freed() {
    for (char* data : memory_) {
      FreeRows(data);
    }
  }
  void Add(char* data) { memory_.push_back(data); }
  bool empty() const { return memory_.empty(); }

 private:
  std::vector<char*> memory_;
};

void ChunkTier::SetLimit(int64_t limit) {
  MutexLock lock(&mutex_);
  limit_.store(limit, std::memory_order_relaxed);
  changed_.SignalAll();
  NotifyLocked();
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

ChunkTier::Info ChunkTier::info() const {
  MutexLock lock(&mutex_);
  Info info;
  info.memory_bytes = memory_bytes_;
  info.disk_bytes = bytes_ - memory_bytes_;
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

void ChunkTier::MoveLocked(TieredRows* rows, List* to) {
  to->splice(to->end(), *rows->in, rows->at);
  rows->in = to;
}

void ChunkTier::DropLocked(TieredRows* rows, Freed* freed) {
  SetBlockRows(rows->block, nullptr);
  freed->Add(std::exchange(rows->data, nullptr));
  memory_bytes_ -= static_cast<int64_t>(rows->bytes);
  MoveLocked(rows, &away_);
}

void ChunkTier::MakeRoomLocked(int64_t target, Freed* freed) {
  // Twice around is enough: the first time takes what was read off those that were.
  size_t looks = 2 * clock_.size();
  const int64_t before = memory_bytes_;
  const bool had_condemned = !condemned_.empty();
  while (memory_bytes_ - condemned_bytes_ > target && looks-- > 0 && !clock_.empty()) {
    TieredRows* const rows = clock_.front();
    if (rows->pins > 0 || rows->recent) {
      rows->recent = rows->pins > 0;
      MoveLocked(rows, &clock_);
    } else if (OnDisk(*rows)) {
      DropLocked(rows, freed);
    } else {
      rows->condemned = true;
      condemned_bytes_ += static_cast<int64_t>(rows->bytes);
      MoveLocked(rows, &condemned_);
    }
  }
  if (memory_bytes_ < before) {
    changed_.SignalAll();
  }
  if ((!had_condemned && !condemned_.empty()) || (!answers_.empty() && HasRoomLocked())) {
    NotifyLocked();
  }
}

void ChunkTier::DropWrittenLocked(int64_t target, Freed* freed) {
  // None of the others moves: this is out of turn. What was read lately goes last.
  for (const bool recent : {false, true}) {
    for (auto at = clock_.begin(); memory_bytes_ > target && at != clock_.end();) {
      TieredRows* const rows = *at++;
      if (rows->pins == 0 && rows->recent == recent && OnDisk(*rows)) {
        DropLocked(rows, freed);
      }
    }
  }
}

void ChunkTier::Add(TieredRows* rows, char* data) {
  Freed freed;
  MutexLock lock(&mutex_);
  rows->data = data;
  rows->pins = 1;
  rows->in = &clock_;
  rows->at = clock_.insert(clock_.end(), rows);
  bytes_ += static_cast<int64_t>(rows->bytes);
  memory_bytes_ += static_cast<int64_t>(rows->bytes);
  MakeRoomLocked(limit(), &freed);
}

void ChunkTier::AddCold(TieredRows* rows) {
  MutexLock lock(&mutex_);
  rows->written = true;
  rows->in = &away_;
  rows->at = away_.insert(away_.end(), rows);
  bytes_ += static_cast<int64_t>(rows->bytes);
}

void ChunkTier::EndMaking(TieredRows* rows) {
  Freed freed;
  MutexLock lock(&mutex_);
  --rows->pins;
  MakeRoomLocked(limit(), &freed);
}

void ChunkTier::Remove(TieredRows* rows) {
  Freed freed;
  MutexLock lock(&mutex_);
  rows->in->erase(rows->at);
  const auto bytes = static_cast<int64_t>(rows->bytes);
  bytes_ -= bytes;
  condemned_bytes_ -= rows->condemned ? bytes : 0;
  if (rows->data != nullptr) {
    freed.Add(rows->data);
    memory_bytes_ -= bytes;
    changed_.SignalAll();
  }
  // What the journal has referred to is for the journal to delete.
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
  std::vector<TieredRows*> missing = TakeMissing(rows);
  for (;;) {
    const absl::StatusOr<bool> loaded = Load(rows, missing);
    if (!loaded.ok()) {
      Unpin(rows);
      return loaded.status();
    }
    if (*loaded) {
      return absl::OkStatus();
    }
    // Whoever read the others could not; perhaps this one can.
    MutexLock lock(&mutex_);
    int64_t bytes = 0;
    missing = MissingLocked(rows, &bytes);
    BeginLoadLocked(missing, bytes);
  }
}

std::vector<TieredRows*> ChunkTier::MissingLocked(absl::Span<TieredRows* const> rows, int64_t* bytes) const {
  std::vector<TieredRows*> missing;
  for (TieredRows* const each : rows) {
    if (each->data == nullptr && !each->loading) {
      missing.push_back(each);
      *bytes += static_cast<int64_t>(each->bytes);
    }
  }
  return missing;
}

void ChunkTier::BeginLoadLocked(const std::vector<TieredRows*>& missing, int64_t bytes) {
  for (TieredRows* const each : missing) {
    each->loading = true;
  }
  memory_bytes_ += bytes;
}

std::vector<TieredRows*> ChunkTier::TakeMissing(absl::Span<TieredRows* const> rows) {
  std::optional<uint64_t> turn;
  for (;;) {
    Freed freed;
    MutexLock lock(&mutex_);
    turn = turn.has_value() ? turn : turns_given_++;
    if (*turn != turns_over_) {
      changed_.Wait(&mutex_);
      continue;
    }
    int64_t bytes = 0;
    std::vector<TieredRows*> missing = MissingLocked(rows, &bytes);
    for (TieredRows* const each : rows) {
      ++each->pins;
      each->recent = true;
    }
    if (!missing.empty()) {
      MakeRoomLocked(limit() - bytes, &freed);
      DropWrittenLocked(HardLimit() - bytes, &freed);
    }
    if (missing.empty() || memory_bytes_ + bytes <= HardLimit() || readers_ == 0) {
      ++readers_;
      BeginLoadLocked(missing, bytes);
      if (++turns_over_ != turns_given_) {
        changed_.SignalAll();
      }
      return missing;
    }
    // Not while it waits: otherwise those who wait could keep each other from going on.
    for (TieredRows* const each : rows) {
      --each->pins;
    }
    if (freed.empty()) {
      changed_.Wait(&mutex_);
    }
  }
}

absl::StatusOr<bool> ChunkTier::Load(absl::Span<TieredRows* const> rows, const std::vector<TieredRows*>& missing) {
  absl::Status status;
  std::vector<ColdBlock> blocks;
  if (!missing.empty()) {
    std::shared_ptr<ColdRows> disk;
    blocks.reserve(missing.size());
    {
      MutexLock lock(&mutex_);
      disk = disk_;
      for (TieredRows* const each : missing) {
        blocks.push_back({each->durable, each->cold_id, nullptr, each->bytes});
      }
    }
    for (ColdBlock& block : blocks) {
      block.data = AllocateRows(block.bytes);
      if (block.data == nullptr) {
        status = absl::ResourceExhaustedError("there is no memory for rows that are on disk");
      }
    }
    if (status.ok()) {
      status = WAGGLE_FAILPOINT("tier.before_read");
    }
    if (status.ok()) {
      status = disk != nullptr ? disk->Read(blocks) : absl::CancelledError("nothing is read yet");
    }
  }
  Freed freed;
  MutexLock lock(&mutex_);
  for (size_t i = 0; i < missing.size(); ++i) {
    TieredRows* const each = missing[i];
    each->loading = false;
    if (status.ok()) {
      each->data = blocks[i].data;
      SetBlockRows(each->block, each->data);
      MoveLocked(each, &clock_);
      ++reads_;
    } else {
      memory_bytes_ -= static_cast<int64_t>(each->bytes);
      freed.Add(blocks[i].data);
    }
  }
  if (!missing.empty()) {
    changed_.SignalAll();
  }
  if (!status.ok()) {
    const std::string text =
        absl::StrCat("table \"", table_, "\": rows that are on disk cannot be read: ", status.message());
    const bool passes = absl::IsCancelled(status) || absl::IsResourceExhausted(status) || absl::IsUnavailable(status);
    return passes ? absl::Status(status.code(), text) : absl::DataLossError(text);
  }
  for (;;) {
    bool all = true;
    bool loading = false;
    for (const TieredRows* const each : rows) {
      all = all && each->data != nullptr;
      loading = loading || each->loading;
    }
    if (all || !loading) {
      return all;
    }
    changed_.Wait(&mutex_);
  }
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
  for (const TieredRows* const each : rows) {
    if (each->data == nullptr) {
      return false;
    }
  }
  for (TieredRows* const each : rows) {
    ++each->pins;
    each->recent = true;
  }
  ++readers_;
  return true;
}

void ChunkTier::Unpin(absl::Span<TieredRows* const> rows) {
  Freed freed;
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

absl::StatusOr<bool> ChunkTier::Spill() {
  std::vector<TieredRows*> batch;
  std::vector<ColdBlock> blocks;
  std::shared_ptr<ColdRows> disk;
  {
    Freed freed;
    MutexLock lock(&mutex_);
    if (stopped_) {
      return false;
    }
    disk = disk_;
    MakeRoomLocked(limit(), &freed);
    for (size_t bytes = 0; bytes < kBatchBytes && !condemned_.empty();) {
      TieredRows* const rows = condemned_.front();
      MoveLocked(rows, &away_);
      if (!TryHoldBlock(rows->block)) {
        continue;  // Remove is about to be called.
      }
      batch.push_back(rows);
      if (OnDisk(*rows)) {
        continue;  // By the journal, meanwhile.
      }
      if (rows->durable == nullptr && rows->cold_id == 0) {
        rows->cold_id = signal_->NewId();
      }
      blocks.push_back({rows->durable, rows->cold_id, rows->data, rows->bytes});
      bytes += rows->bytes;
    }
  }
  if (batch.empty()) {
    return false;
  }
  absl::Status status = WAGGLE_FAILPOINT("tier.before_write");
  if (status.ok() && !blocks.empty()) {
    status = disk->Write(blocks);
  }
  bool more = false;
  bool was_ok = true;
  {
    Freed freed;
    MutexLock lock(&mutex_);
    for (TieredRows* const rows : batch) {
      if (!status.ok()) {
        MoveLocked(rows, &condemned_);
        continue;
      }
      rows->written = true;
      if (rows->durable != nullptr) {
        rows->durable->committed.store(true, std::memory_order_release);
      }
      rows->condemned = false;
      condemned_bytes_ -= static_cast<int64_t>(rows->bytes);
      if (rows->pins == 0 && !rows->recent) {
        DropLocked(rows, &freed);
      } else {
        MoveLocked(rows, &clock_);
      }
    }
    writes_ += status.ok() ? static_cast<int64_t>(blocks.size()) : 0;
    was_ok = status_.ok();
    status_ = status;
    changed_.SignalAll();
    more = !condemned_.empty();
  }
  if (status.ok() && !was_ok) {
    LogInfo("table \"", table_, "\": rows can be written to disk again");
  } else if (!status.ok() && was_ok) {
    LogError("table \"", table_,
             "\": rows past its memory_limit cannot be written to disk; inserts wait: ", status.message());
  }
  WAGGLE_FAILPOINT("tier.after_write").IgnoreError();
  for (TieredRows* const rows : batch) {
    ReleaseBlock(rows->block);  // Perhaps the last one to do so.
  }
  if (!status.ok()) {
    return status;
  }
  return more;
}

void ChunkTier::DeleteGone() {
  std::vector<ColdRows::Gone> gone;
  std::shared_ptr<ColdRows> disk;
  {
    MutexLock lock(&mutex_);
    gone.swap(gone_);
    disk = disk_;
  }
  if (gone.empty()) {
    return;
  }
  if (const absl::Status status = disk->Delete(gone); !status.ok()) {
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
