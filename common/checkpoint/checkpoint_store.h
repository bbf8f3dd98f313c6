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
#include "common/checkpoint/checkpoint_contents.h"
#include "common/checkpoint/checkpoint_file.h"

namespace waggle {

// The checkpoints of one run, a folder each ("step-000000012345") in one folder. Not thread-safe. Blocks on the disk.
//
// However Save() ends, by an error, a kill or a power cut, LoadLatest() afterwards returns the checkpoint before it or
// the new one, whole: files are written beside, synced, and renamed into place. docs/checkpoints.md describes the
// bytes.
class CheckpointStore {
 public:
  // To load and to save. Keeps the newest `keep` checkpoints, at least 1. Makes the folder where it is missing, locks
  // it for as long as the store lives, and removes what a Save() that was cut short left. UNAVAILABLE if another store
  // has it to save in.
  static absl::StatusOr<std::unique_ptr<CheckpointStore>> Open(const std::string& folder, int keep);

  // As Open, for a folder that another store may have yet: a process that is replaced may be alive still, and has it.
  // Nothing is changed before the first Save(), which is UNAVAILABLE for as long as the other store lives.
  static absl::StatusOr<std::unique_ptr<CheckpointStore>> OpenToTakeOver(const std::string& folder, int keep);

  // To load only: changes nothing, and needs no lock. NOT_FOUND if there is no such folder. Save() is then
  // FAILED_PRECONDITION.
  static absl::StatusOr<std::unique_ptr<CheckpointStore>> OpenToRead(const std::string& folder);

  // The highest step that a checkpoint is there for, be it whole or damaged; nothing if there is none.
  absl::StatusOr<std::optional<int64_t>> NewestStep() const;

  // Returns once the checkpoint is on the device; replaces one of the same step. Makes the folder again where it is
  // gone, UNAVAILABLE if another store has made it to save in. INVALID_ARGUMENT for contents that break a rule above;
  // any other error is the file system's. Then removes the oldest beyond `keep`, not counting
  // damaged ones and those of later steps; failing to is only logged.
  absl::Status Save(const CheckpointContents& contents);

  // Removes the checkpoints of later steps: for whoever has gone back to this one for good. RemoveLater claims the
  // folder as Save() does.
  absl::Status RemoveLater(int64_t step);

  // The newest whole checkpoint, which is that with the highest step, of those with the highest epoch where they have
  // one; nothing if there never was one. Damaged ones are passed over and logged with the reason. DATA_LOSS, with every
  // reason, if all are damaged; FAILED_PRECONDITION if a newer Waggle wrote the newest, or one of before format 2, or
  // if another one is of another run than the newest: which one was meant is not to be guessed.
  absl::StatusOr<std::optional<CheckpointContents>> LoadLatest();

  // The checkpoint of this step. NOT_FOUND if there is none; DATA_LOSS if it is damaged; else as LoadLatest.
  absl::StatusOr<CheckpointContents> LoadStep(int64_t step) const;

 private:
  // One folder under folder_ that looks like a checkpoint.
  struct Candidate {
    int64_t step = 0;
    bool replaced = false;  // Set aside by a Save() of the same step that did not end.
    std::string name;
  };

  CheckpointStore(std::string folder, int keep, bool writes)
      : folder_(std::move(folder)), keep_(keep), writes_(writes) {}

  // The highest step first.
  absl::StatusOr<std::vector<Candidate>> ListCandidates() const;
  // The newest first.
  absl::StatusOr<std::vector<Candidate>> ListByEpoch() const;
  // Makes the folder and its lock where they are missing or gone.
  absl::Status ClaimFolder();
  // Makes the folder `path` with a checkpoint in it, synced.
  absl::Status WriteFolder(const std::string& path, const CheckpointContents& contents) const;
  // Gives the finished folder `written` the checkpoint's name, in the place of one that has it.
  absl::Status MoveIntoPlace(const std::string& written, int64_t step) const;

  // Checks all but the arrays' bytes.
  absl::StatusOr<CheckpointHeader> ReadHeader(const Candidate& candidate) const;
  absl::StatusOr<CheckpointContents> Load(const Candidate& candidate) const;
  absl::Status CheckOneRun(const CheckpointContents& newest, const std::vector<Candidate>& candidates) const;

  // Removes the checkpoints beyond the newest keep_ whole ones up to `saved_step`, and logs what goes wrong.
  void Prune(int64_t saved_step) const;
  // Renames before it removes, so that a half-removed checkpoint does not look like one.
  absl::Status Remove(const std::string& name) const;
  std::string Path(absl::string_view name) const;

  const std::string folder_;
  const int keep_;
  const bool writes_;  // Not to read only.
  File lock_;          // Not open where the store is to read only, has lost its folder, or not claimed it yet.
  std::set<std::string> damaged_;  // Names whose arrays LoadLatest() found damaged: headers do not show it.
};

}  // namespace waggle
