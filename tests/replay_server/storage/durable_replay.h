#pragma once

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "common/base/threads/mutex.h"
#include "replay_server/rows/chunk_tiers.h"
#include "replay_server/storage/data_folder.h"
#include "replay_server/storage/disk_rows.h"
#include "replay_server/storage/journal.h"
#include "replay_server/store/replay_store.h"
#include "tests/support/catch.h"
#include "tests/support/replay_fixtures.h"
#include "tests/support/temporary_folder.h"

namespace waggle::testing {

// A replay store with a journal, without a server around it.
struct DurableReplay {
  DurableReplay() = default;
  DurableReplay(DurableReplay&&) = default;
  // As a server ends: the state of its writers is saved before they are destroyed.
  ~DurableReplay() {
    if (store != nullptr) {
      store->Close();
      tiers->Stop();
      journal->Stop();
    }
  }

  std::unique_ptr<DataFolder> folder;
  std::shared_ptr<Database> database;
  std::unique_ptr<Journal> journal;
  std::unique_ptr<ChunkTiers> tiers;
  std::unique_ptr<ReplayStore> store;
};

inline absl::StatusOr<DurableReplay> TryOpenReplay(const std::string& path, ReplayStoreOptions options = {}) {
  DataFolderOptions folder_options;
  folder_options.path = path;
  absl::StatusOr<DataFolder::Opened> opened = DataFolder::Open(folder_options);
  if (!opened.ok()) {
    return opened.status();
  }
  DurableReplay replay;
  replay.folder = std::move(opened->folder);
  JournalOptions journal_options;
  journal_options.checkpoint_period = absl::InfiniteDuration();
  journal_options.keep = [folder = replay.folder.get()](Database* database) {
    return folder->KeepCheckpoint(database);
  };
  journal_options.note = [folder = replay.folder.get()](uint64_t sequence, uint64_t items) {
    folder->NoteCommit(sequence, items);
  };
  replay.database = std::move(opened->database);
  replay.journal = std::make_unique<Journal>(replay.database, opened->state, journal_options);
  replay.tiers = std::make_unique<ChunkTiers>(std::make_shared<DiskRows>(replay.database, replay.folder->cold_path()));
  replay.store = std::make_unique<ReplayStore>(options, replay.journal.get(), replay.tiers.get());
  const absl::Status restored =
      replay.store->Restore(std::move(opened->state.tables), std::move(opened->state.writers));
  if (!restored.ok()) {
    return restored;
  }
  return replay;
}

inline DurableReplay OpenReplay(const std::string& path, ReplayStoreOptions options = {}) {
  return ValueOf(TryOpenReplay(path, options));
}

inline std::set<std::string> FilesIn(const std::string& folder) {
  std::set<std::string> files;
  std::error_code gone;
  for (std::filesystem::recursive_directory_iterator at(folder, gone), end; at != end && !gone; at.increment(gone)) {
    files.insert(at->path().string());
  }
  return files;
}

// Copies a folder as a crash would leave it now. RocksDB may make and remove files during the copy, which then has not
// the files of one moment: another copy is made.
inline void CopyAfterCrash(const std::string& from, const std::string& to) {
  std::error_code gone;
  std::set<std::string> files;
  do {
    files = FilesIn(from);
    std::filesystem::remove_all(to);
    gone.clear();
    std::filesystem::copy(from, to, std::filesystem::copy_options::recursive, gone);
  } while (gone == std::errc::no_such_file_or_directory || FilesIn(from) != files);
  REQUIRE(!gone);
}

// Waits for one call.
class Called {
 public:
  void operator()(const absl::Status& status) const {
    MutexLock lock(&state_->mutex);
    state_->called = true;
    state_->status = status;
    state_->changed.SignalAll();
  }
  absl::Status Wait() const {
    MutexLock lock(&state_->mutex);
    while (!state_->called) {
      state_->changed.Wait(&state_->mutex);
    }
    return state_->status;
  }
  bool called() const {
    MutexLock lock(&state_->mutex);
    return state_->called;
  }

 private:
  struct State {
    Mutex mutex;
    CondVar changed;
    bool called ABSL_GUARDED_BY(mutex) = false;
    absl::Status status ABSL_GUARDED_BY(mutex);
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

inline absl::Status AwaitCommit(const Table& table) {
  Called called;
  table.AfterCommit(called);
  return called.Wait();
}

inline absl::StatusOr<CheckpointInfo> AwaitCheckpoint(Journal* journal) {
  Called called;
  auto info = std::make_shared<CheckpointInfo>();
  journal->Checkpoint([called, info](const absl::StatusOr<CheckpointInfo>& result) {
    *info = result.value_or(CheckpointInfo());
    called(result.status());
  });
  const absl::Status status = called.Wait();
  return status.ok() ? absl::StatusOr<CheckpointInfo>(*info) : absl::StatusOr<CheckpointInfo>(status);
}

inline TableConfig DurableTable(const std::string& name, Durability durability) {
  TableConfig config = SimpleTable(name);
  config.durability = durability;
  return config;
}

// Inserts a block and waits for the answer.
inline absl::Status AwaitInsert(WriterSession* session, uint64_t sequence, InsertBlock block) {
  Called called;
  session->Insert(sequence, std::move(block),
                  [called](const absl::StatusOr<WriterSession::Result>& result) { called(result.status()); });
  return called.Wait();
}

}  // namespace waggle::testing
