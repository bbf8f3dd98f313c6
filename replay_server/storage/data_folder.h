#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/file.h"
#include "replay_server/storage/commit_ring.h"
#include "replay_server/storage/database.h"
#include "replay_server/storage/saved_state.h"

namespace waggle {

struct DataFolderOptions {
  std::string path;
  int keep_checkpoints = 3;
  // A database is not begun on a disk with less: RocksDB does not always get over one that is full before its first
  // write.
  uint64_t least_free_bytes = uint64_t{16} << 20;
};

// The folder that a replay server keeps its tables in:
//
//   LOCK            held while a server uses the folder
//   db/             the database
//   checkpoints/N   copies of it, made after checkpoint N; the last few are kept. Their large files are hard links to
//                   db's: what damages such a file damages the copies that have it too
//   commits         the last commits to db: see CommitRing
//   cold/           rows past their tables' memory_limit; means nothing to the next server, which removes it
//   damaged/N       what could not be read, moved out of the way; never deleted
//   storage_id      what the server calls the folder where it works for a hub: see StorageId
//
// Not thread-safe.
class DataFolder {
 public:
  struct Opened {
    std::unique_ptr<DataFolder> folder;
    std::unique_ptr<Database> database;
    SavedState state;
    CommitRing::Lost lost;  // Commits that were acknowledged and are not there, at least; the log says so too.
  };
  // Makes the folder if it is missing, takes it, and reads what it holds. Where the database is damaged, the newest of
  // its copies that is not takes its place, and the log says which, why and what is lost.
  //
  // UNAVAILABLE if another server has the folder; PERMISSION_DENIED or RESOURCE_EXHAUSTED where it cannot be written;
  // DATA_LOSS if nothing in it can be read; FAILED_PRECONDITION if a newer server has written it.
  static absl::StatusOr<Opened> Open(const DataFolderOptions& options);

  // For people: where it is, from the root of this machine's files.
  std::string absolute_path() const;
  // For the rows past their tables' memory_limit; a folder that is not there when the server starts.
  std::string cold_path() const { return Path("cold"); }

  // A commit was written to the database: see CommitRing. Called by one thread at a time.
  void NoteCommit(uint64_t sequence, uint64_t items) { commits_->Note(sequence, items); }

  // Copies the database to checkpoints/N, for the next N, and removes the oldest ones past those to keep. Returns N.
  absl::StatusOr<uint64_t> KeepCheckpoint(Database* database);

 private:
  explicit DataFolder(const DataFolderOptions& options) : options_(options) {}

  std::string Path(const std::string& name) const { return options_.path + "/" + name; }
  absl::StatusOr<std::vector<uint64_t>> Numbers(const std::string& folder) const;  // In their order.
  absl::Status Create();
  absl::Status MoveAside(const std::string& name);
  // Makes `name` a copy of checkpoint `number` that may be written to.
  absl::Status CopyCheckpoint(uint64_t number, const std::string& name) const;
  absl::StatusOr<Opened> Load(std::unique_ptr<DataFolder> self);
  absl::Status FallBack(const absl::Status& damage, SavedState* state);

  const DataFolderOptions options_;
  File lock_;
  std::unique_ptr<CommitRing> commits_;
};

}  // namespace waggle
