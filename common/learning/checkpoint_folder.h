#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/checkpoint/checkpoint_store.h"

namespace waggle {

struct CheckpointFolderOptions {
  std::string output_dir;  // Checkpoints are in its folder "checkpoints"; empty: there are none.
  std::string experiment;  // Its name.
  int keep = 1;            // So many checkpoints.
};

// Where a process that learns has its checkpoints.
struct CheckpointFolder {
  std::unique_ptr<CheckpointStore> store;  // Null: none are written.
  std::string run;                         // Which run it is, for the next checkpoints.
  std::string source;                      // Where `contents` is from.
  // What there is to go on from; nothing: it begins anew.
  std::optional<CheckpointContents> contents;
};

// Opens the folder, where there is to be one, and reads what there is to go on from: whatever starts a process again
// and again goes on. Where another process has that folder, checkpoints are written once it has ended. Errors as
// CheckpointStore's.
absl::StatusOr<CheckpointFolder> OpenCheckpointFolder(const CheckpointFolderOptions& options);

}  // namespace waggle
