#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "replay_server/rows/chunk_tiers.h"
#include "replay_server/storage/disk_rows.h"
#include "replay_server/storage/journal.h"
#include "replay_server/storage/saved_state.h"
#include "replay_server/store/replay_store.h"
#include "tests/fuzz/fuzz_tables.h"

namespace waggle::fuzz {

// Tables that outlive their server: logged, checkpointed, and logged with rows on disk.
inline TableConfig DurableTable(uint8_t number) {
  TableConfig config = Table(number);
  config.durability = number == 1 ? Durability::kCheckpoint : Durability::kLog;
  config.memory_limit = number == 2 ? 1 : 0;
  return config;
}

// A replay store with a journal, like that of a server with a folder, over a database that was read.
class DurableStore {
 public:
  DurableStore(const std::shared_ptr<Database>& database, SavedState state, rocksdb::Env* env) {
    JournalOptions options;
    options.checkpoint_period = absl::InfiniteDuration();
    disk_rows_ = std::make_shared<DiskRows>(database, "/cold", env);
    journal_ = std::make_unique<Journal>(database, state, std::move(options));
    tiers_ = std::make_unique<ChunkTiers>(disk_rows_);
    store_ = std::make_unique<ReplayStore>(SmallStore(), journal_.get(), tiers_.get());
    status_ = store_->Restore(std::move(state.tables), std::move(state.writers));
    if (!status_.ok()) {
      journal_->Abandon();
    }
  }
  // Saves everything.
  ~DurableStore() {
    store_->Close();
    tiers_->Stop();
    journal_->Stop();
    store_ = nullptr;
    disk_rows_->Close();
  }

  const absl::Status& status() const { return status_; }  // The result of restoring.
  ReplayStore* store() { return store_.get(); }

 private:
  std::shared_ptr<DiskRows> disk_rows_;
  std::unique_ptr<Journal> journal_;
  std::unique_ptr<ChunkTiers> tiers_;
  std::unique_ptr<ReplayStore> store_;
  absl::Status status_;
};

}  // namespace waggle::fuzz
