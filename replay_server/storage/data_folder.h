#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/file.h"
#include "replay_server/storage/commit_ring.h"
#include "replay_server/storage/cut_request.h"
#include "replay_server/storage/database.h"
#include "replay_server/storage/saved_state.h"

namespace waggle {

struct DataFolderOptions {
  std::string path;
  int keep_checkpoints = 3;
  // A new database needs this much free space: RocksDB may not recover from a disk that is full before its first write.
  uint64_t least_free_bytes = uint64_t{16} << 20;
  // Before the database is opened, the tables of these experiments become those of cuts. Other tables stay.
  std::vector<CutReturn> return_to = {};
};

// The folder of a replay server's tables:
//
//     LOCK            held while a server uses the folder
//     db/             the database
//     checkpoints/N   a copy of it after checkpoint N. The last few are kept. Their large files are hard links to
//                     those of db/, so damage to such a file damages all copies
//     cuts/ID/N       the same for cut N of experiment ID, kept until the experiment's later cuts replace it
//     cuts/ID/restored   the token of the last return to a cut of the experiment
//     cuts/ID/returning  the token of a return, and the number of starts that have begun it and not ended it
//     commits         the last commits to db/, see CommitRing
//     cold/           rows beyond their tables' memory_limit. The next server removes it
//     damaged/N       unreadable data, moved here and never deleted
//     storage_id      the name of the folder for a hub, see StorageId
//
// Not thread-safe.
class DataFolder {
 public:
  struct Opened {
    std::unique_ptr<DataFolder> folder;
    std::unique_ptr<Database> database;
    SavedState state;
    CommitRing::Lost lost;             // A lower bound of acknowledged commits that are missing. They are logged too.
    std::vector<FailedReturn> failed;  // These experiments have the tables that they had.
  };
  // Creates the folder if it is missing, locks it and reads it. A damaged database is replaced by its newest intact
  // copy; the log says which, why and what is lost. UNAVAILABLE if another server uses the folder, PERMISSION_DENIED or
  // RESOURCE_EXHAUSTED if it cannot be written, DATA_LOSS if it cannot be read, FAILED_PRECONDITION if a newer server
  // wrote it.
  static absl::StatusOr<Opened> Open(const DataFolderOptions& options);

  // For messages.
  std::string absolute_path() const;
  // For rows beyond their tables' memory_limit. The folder does not exist when the server starts.
  std::string cold_path() const { return Path("cold"); }

  // Records a commit to the database: see CommitRing. One thread at a time.
  void NoteCommit(uint64_t sequence, uint64_t items) { commits_->Note(sequence, items); }

  // Copies the database to checkpoints/N, for the next N, and removes the oldest surplus copies. Returns N.
  absl::StatusOr<uint64_t> KeepCheckpoint(Database* database);

  // INVALID_ARGUMENT for an experiment whose id is no name of a folder.
  static absl::Status CheckCut(const CutRequest& cut);
  // Copies the database to cuts/EXPERIMENT/NUMBER, and then removes the experiment's cuts that are not kept. Errors as
  // CheckCut.
  absl::Status KeepCut(Database* database, const CutRequest& cut) const;
  // NOT_FOUND if the folder does not have the cut. Any thread.
  absl::Status FindCut(const CutReturn& cut) const;
  // The token of the last return to a cut of the experiment; empty if there was none. The error of reading it. Any
  // thread.
  absl::StatusOr<std::string> ReturnToken(const std::string& experiment) const;

 private:
  explicit DataFolder(const DataFolderOptions& options) : options_(options) {}

  std::string Path(const std::string& name) const { return options_.path + "/" + name; }
  absl::StatusOr<std::vector<uint64_t>> Numbers(const std::string& folder) const;  // Sorted.
  absl::Status Create();
  absl::Status MoveAside(const std::string& name);
  // Copies checkpoint `number` to `name`. The copy is writable.
  absl::Status CopyCheckpoint(uint64_t number, const std::string& name) const;
  absl::Status CopyFolder(const std::string& from, const std::string& to) const;
  std::string CutsOf(const std::string& experiment) const;
  // Counts a start that goes back to a cut. ABORTED if several have ended in the middle.
  absl::Status CountStart(const CutReturn& cut) const;
  // The state of the database afterwards. Adds to `lost`.
  absl::StatusOr<SavedState> ReturnTo(const CutReturn& cut, CommitRing::Lost* lost) const;
  // Merges a cut's database with this one, in a folder of its own, and checks all of the result.
  absl::StatusOr<SavedState> MergeCut(const std::string& from, const std::string& experiment,
                                      CommitRing::Lost* lost) const;
  // Logs the commits after the newest one of the database, and adds them to `lost`. They are forgotten then.
  void NoteLost(uint64_t newest, bool damaged, CommitRing::Lost* lost) const;
  // Removes the leftovers of a return that a crash or an error has ended. The database of before it comes back if the
  // cut's has not taken its place.
  absl::Status EndReturn() const;
  // `state` is that of the database, if it is known.
  absl::StatusOr<Opened> Load(std::unique_ptr<DataFolder> self, std::optional<SavedState> state, Opened opened);
  absl::Status FallBack(const absl::Status& damage, SavedState* state);

  const DataFolderOptions options_;
  File lock_;
  std::unique_ptr<CommitRing> commits_;
};

}  // namespace waggle
