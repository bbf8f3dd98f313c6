#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/rl/checkpoint/checkpoint_store.h"

namespace waggle {

struct CheckpointFolderOptions {
  std::string output_dir;  // Checkpoints are in its folder "checkpoints"; empty: none are written.
  std::string experiment;  // Its name.
  int keep = 1;            // Checkpoints to keep.
};

// The checkpoints of a learning process.
struct CheckpointFolder {
  std::unique_ptr<CheckpointStore> store;  // Null: none are written.
  std::string run;                         // Identifies the run in its next checkpoints.
  std::string source;                      // The origin of `contents`.
  // The state to continue from; null for a new start.
  std::optional<CheckpointContents> contents;
};

// Opens the folder, if any, and reads the state, so that a restarted process continues. If another process has the
// folder, checkpoints are written once that has ended. Errors are CheckpointStore's.
absl::StatusOr<CheckpointFolder> OpenCheckpointFolder(const CheckpointFolderOptions& options);

}  // namespace waggle
