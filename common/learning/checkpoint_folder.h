#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/checkpoint/checkpoint_store.h"

namespace waggle {

struct CheckpointFolderOptions {
  // Checkpoints are written to its folder "checkpoints"; empty: none are. FAILED_PRECONDITION if that holds checkpoints
  // already and neither is `restore_dir` nor `resume` set.
  std::string output_dir;
  std::string restore_dir;  // A folder of checkpoints to go on from; empty: training begins anew.
  // Goes on from the checkpoints in `output_dir`, or begins anew where there are none: for whatever starts a process
  // again and again. Not together with `restore_dir`.
  bool resume = false;
  std::string experiment;  // Its name.
  int keep = 1;            // So many checkpoints.
};

// Where a process that learns has its checkpoints from and writes them to.
struct CheckpointFolder {
  std::unique_ptr<CheckpointStore> store;  // To write to; null: none are written.
  std::string run;                         // Which run it is, for the next checkpoints.
  std::string source;                      // The folder of `contents`.
  // What there is to go on from; nothing: it begins anew.
  std::optional<CheckpointContents> contents;
};

// Opens the folder to write to, where there is to be one, and reads what there is to go on from. Where another process
// has that folder, checkpoints are written once it has ended. Checkpoints of one run
// never get among those of another: later it would go on from whichever got further. NOT_FOUND where `restore_dir` has
// none; else errors as CheckpointStore's.
absl::StatusOr<CheckpointFolder> OpenCheckpointFolder(const CheckpointFolderOptions& options);

}  // namespace waggle
