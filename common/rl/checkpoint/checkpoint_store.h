#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/file.h"
#include "common/rl/checkpoint/checkpoint_contents.h"
#include "common/rl/checkpoint/checkpoint_file.h"

namespace waggle {

// The checkpoints of a run, each in a subfolder "step-000000012345". Not thread-safe. Blocks on the disk.
//
// Even if Save() ends by an error, a kill or a power cut, LoadLatest() returns the earlier checkpoint or the new one,
// complete: files are written elsewhere, synced and renamed. docs/checkpoints.md has the format.
class CheckpointStore {
 public:
  // Opens to load and save. Keeps the newest `keep` checkpoints, at least 1. Creates the folder if it is missing, locks
  // it for the store's life, and removes the rest of an interrupted Save(). UNAVAILABLE if another store has the lock.
  static absl::StatusOr<std::unique_ptr<CheckpointStore>> Open(const std::string& folder, int keep);

  // The same if another store, of a process that is being replaced, may still have the lock. Changes nothing before the
  // first Save(), which is UNAVAILABLE until the other store is gone.
  static absl::StatusOr<std::unique_ptr<CheckpointStore>> OpenToTakeOver(const std::string& folder, int keep);

  // Opens to load only, without a lock or changes. NOT_FOUND if the folder is missing. Save() is FAILED_PRECONDITION.
  static absl::StatusOr<std::unique_ptr<CheckpointStore>> OpenToRead(const std::string& folder);

  // The highest step of a checkpoint, intact or damaged; null if there is none.
  absl::StatusOr<std::optional<int64_t>> NewestStep() const;

  // Returns once the checkpoint is on the device. Replaces one of the same step. Recreates a lost folder, UNAVAILABLE
  // if another store has done so. INVALID_ARGUMENT if the contents are invalid; other errors are the file system's.
  // Then removes the oldest beyond `keep`, not counting damaged ones and later steps; errors of that are only logged.
  absl::Status Save(const CheckpointContents& contents);

  // Removes later checkpoints, after a final return to this one. Claims the folder as Save() does.
  absl::Status RemoveLater(int64_t step);

  // The newest intact checkpoint: the highest step of the highest epoch; null if there never was one. Damaged ones are
  // skipped and logged. DATA_LOSS, with all reasons, if all are damaged. FAILED_PRECONDITION if a newer Waggle wrote
  // the newest, or one before format 2, or if the checkpoints are of different runs.
  absl::StatusOr<std::optional<CheckpointContents>> LoadLatest();

  // NOT_FOUND if there is no such step, DATA_LOSS if it is damaged; other errors as above.
  absl::StatusOr<CheckpointContents> LoadStep(int64_t step) const;

 private:
  // A subfolder that looks like a checkpoint.
  struct Candidate {
    int64_t step = 0;
    bool replaced = false;  // Set aside by an unfinished Save() of the same step.
    std::string name;
  };

  CheckpointStore(std::string folder, int keep, bool writes)
      : folder_(std::move(folder)), keep_(keep), writes_(writes) {}

  // Highest step first.
  absl::StatusOr<std::vector<Candidate>> ListCandidates() const;
  // Newest first.
  absl::StatusOr<std::vector<Candidate>> ListByEpoch() const;
  // Creates the folder and its lock if they are missing or gone.
  absl::Status ClaimFolder();
  // Creates folder `path` with a checkpoint, synced.
  absl::Status WriteFolder(const std::string& path, const CheckpointContents& contents) const;
  // Renames folder `written` to the checkpoint's name, replacing an existing one.
  absl::Status MoveIntoPlace(const std::string& written, int64_t step) const;

  // Checks all but the arrays.
  absl::StatusOr<CheckpointHeader> ReadHeader(const Candidate& candidate) const;
  absl::StatusOr<CheckpointContents> Load(const Candidate& candidate) const;
  absl::Status CheckOneRun(const CheckpointContents& newest, const std::vector<Candidate>& candidates) const;

  // Removes checkpoints beyond the newest keep_ intact ones up to `saved_step`. Logs errors.
  void Prune(int64_t saved_step) const;
  // Renames before it removes, so that a partly removed checkpoint does not look like one.
  absl::Status Remove(const std::string& name) const;
  std::string Path(absl::string_view name) const;

  const std::string folder_;
  const int keep_;
  const bool writes_;              // False if opened to read.
  File lock_;                      // Open once the folder is claimed, until it is lost.
  std::set<std::string> damaged_;  // Names with damaged arrays, which headers do not show, found by LoadLatest().
};

}  // namespace waggle
