#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "common/base/failpoint.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "replay_server/base/refusal_reasons.h"
#include "replay_server/storage/journal.h"
#include "replay_server/storage/records.h"
#include "waggle/v1/replay_storage.pb.h"

// The journal's commits and checkpoints.

namespace waggle {
namespace {

constexpr absl::Duration kRetryPause = absl::Milliseconds(200);
// Changed slots that may be copied while tables are locked: of one table, or of all in a cut.
constexpr size_t kFewSlots = 4096;
// Copying ahead may never finish if slots change as fast as they are copied.
constexpr int kMaxRounds = 8;

}  // namespace

std::vector<std::shared_ptr<WriterSession>> Journal::TakeCut(bool checkpoint,
                                                             const std::vector<std::shared_ptr<Table>>& tables,
                                                             JournalBatch* batch) {
  // Declared before the locks are taken: releasing the last reference to a session takes its tables' locks.
  std::vector<std::shared_ptr<WriterSession>> held;
  std::vector<std::shared_ptr<WriterSession>> registered;
  std::vector<TableChanges> changes;
  // Taken first: later changes cannot refer to blocks that are gone by now.
  BlockLedger::Gone gone = ledger_->TakeGone();
  state_.gone.logged.insert(state_.gone.logged.end(), gone.logged.begin(), gone.logged.end());
  state_.gone.checkpointed.insert(state_.gone.checkpointed.end(), gone.checkpointed.begin(), gone.checkpointed.end());
  Table::TakeChanges(tables, &changes, [this, checkpoint, &held, &registered] {
    if (!checkpoint) {
      return;
    }
    for (const auto& [number, writer] : state_.writers) {
      if (std::shared_ptr<WriterSession> session = writer.session.lock(); session != nullptr) {
        session->HoldChanges();
        held.push_back(std::move(session));
      }
    }
    MutexLock lock(&mutex_);
    for (const auto& [id, weak] : new_writers_) {
      if (std::shared_ptr<WriterSession> session = weak.lock(); session != nullptr) {
        session->HoldChanges();
        registered.push_back(std::move(session));
      }
    }
  });
  held.insert(held.end(), registered.begin(), registered.end());
  TakeRegistrations();
  std::vector<uint64_t> forgotten;
  {
    MutexLock lock(&mutex_);
    forgotten.swap(forgotten_writers_);
  }
  for (const uint64_t number : forgotten) {
    batch->DropWriter(number, &state_);
  }
  for (size_t i = 0; i < tables.size(); ++i) {
    batch->Add(tables[i]->number(), std::move(changes[i]));
  }
  return held;
}

absl::Status Journal::StoreBlocks(JournalBatch* batch) {
  return batch->AddBlocks([this](rocksdb::WriteBatch* records) { return Write(records, /*sync=*/false); });
}

std::vector<std::shared_ptr<Table>> Journal::TablesOf(bool checkpoint) const {
  std::vector<std::shared_ptr<Table>> tables;
  for (const auto& [number, known] : state_.tables) {
    if (checkpoint || known.table->logged()) {
      tables.push_back(known.table);
    }
  }
  return tables;
}

absl::Status Journal::CopyAhead(const std::vector<std::shared_ptr<Table>>& tables, JournalBatch* batch) {
  for (int round = 0; round < kMaxRounds; ++round) {
    size_t slots = 0;
    for (const std::shared_ptr<Table>& table : tables) {
      slots += table->changed_slots();
    }
    if (slots <= kFewSlots) {
      break;
    }
    for (const std::shared_ptr<Table>& table : tables) {
      // Only the current count: later changes belong to the next round.
      for (size_t left = table->changed_slots(); left > 0; left -= std::min(left, kFewSlots)) {
        TableChanges changes;
        table->TakeSomeChanges(std::min(left, kFewSlots), &changes);
        batch->Add(table->number(), std::move(changes));
        WAGGLE_RETURN_IF_ERROR(StoreBlocks(batch));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status Journal::Commit(bool checkpoint, const std::vector<std::shared_ptr<Table>>& dropped, uint64_t* items) {
  if (gave_up_) {
    return StoppedError();
  }
  JournalBatch batch(database_.get());
  for (const std::shared_ptr<Table>& table : dropped) {
    batch.DropTable(table->number(), &state_);
  }
  const std::vector<std::shared_ptr<Table>> tables = TablesOf(checkpoint);
  WAGGLE_RETURN_IF_ERROR(CopyAhead(tables, &batch));
  if (checkpoint) {
    WAGGLE_RETURN_IF_ERROR(WAGGLE_FAILPOINT("checkpoint.before_cut"));
  }
  const std::vector<std::shared_ptr<WriterSession>> held = TakeCut(checkpoint, tables, &batch);
  WAGGLE_RETURN_IF_ERROR(StoreBlocks(&batch));
  batch.Encode(checkpoint, &state_, held);
  batch.DeleteBlocks(std::exchange(state_.gone.logged, {}));
  if (checkpoint) {
    batch.DeleteBlocks(std::exchange(state_.gone.checkpointed, {}));
    v1::StoredCheckpoint proto;
    proto.set_unix_seconds(absl::ToUnixSeconds(absl::Now()));
    batch.Put(Database::Family::kMeta, kCheckpointKey, proto.SerializeAsString());
  }
  *items = batch.items();
  if (batch.records()->Count() > 0) {
    // Others write rows meanwhile: the commit's first sequence number is this one plus 1, or later.
    const uint64_t before = database_->get() != nullptr ? database_->get()->GetLatestSequenceNumber() : 0;
    WAGGLE_RETURN_IF_ERROR(Write(batch.records(), batch.sync()));
    if (options_.note != nullptr) {
      options_.note(before + 1, *items);
    }
  }
  batch.NoteWritten();
  if (checkpoint) {
    WAGGLE_FAILPOINT("checkpoint.after_cut").IgnoreError();
  }
  batch.TellWriters(state_);
  return absl::OkStatus();
}

absl::Status Journal::Write(rocksdb::WriteBatch* batch, bool sync) {
  for (;;) {
    absl::Status status = WAGGLE_FAILPOINT("journal.before_commit");
    if (status.ok()) {
      status = database_->Write(batch, sync);
    }
    if (status.ok()) {
      WAGGLE_FAILPOINT("journal.after_commit").IgnoreError();
      if (health_.Succeeded()) {
        LogInfo("replay can be written to disk again");
      }
      return absl::OkStatus();
    }
    if (!PauseAfterFailure(status)) {
      gave_up_ = true;
      return Refusal(absl::StatusCode::kUnavailable, reasons::kDisk,
                     "replay could not be written to disk: ", status.message());
    }
    if (const absl::Status resumed = database_->Resume(); !resumed.ok()) {
      LogDebug("replay cannot be written to disk yet: ", resumed.message());
    }
  }
}

bool Journal::PauseAfterFailure(const absl::Status& failure) {
  if (health_.Failed(failure)) {
    LogError(health_.status().message(), "; until then tables that are to survive a restart take nothing in");
  }
  MutexLock lock(&mutex_);
  if (!work_.stop) {
    changed_.WaitFor(&mutex_, kRetryPause);
  }
  return !work_.stop;
}

}  // namespace waggle
