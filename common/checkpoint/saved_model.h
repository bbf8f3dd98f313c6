#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/api/model.h"
#include "common/checkpoint/checkpoint_store.h"

namespace waggle {

// Weights that acted, with all that is needed to act with them again: what the parameter server keeps of a run's newest
// and best version, and what `waggle evaluate` reads.
struct SavedModel {
  ModelSnapshot snapshot;
  std::string experiment_yaml;  // Complete.
  // A line of the process that keeps the weights, for itself: a hub says how they were evaluated. Empty: it says
  // nothing.
  std::string remark = {};
};

// The folders, below the parameter server's data folder, in which it keeps them; each is a CheckpointStore's.
inline constexpr char kNewestModelFolder[] = "weights/newest";
inline constexpr char kBestModelFolder[] = "weights/best";

// As the contents of a checkpoint, whose step is the version. The bytes are shared, not copied.
CheckpointContents ToCheckpoint(const SavedModel& model);

// And back. INVALID_ARGUMENT, saying what is missing, for a checkpoint of something else, such as a learner's state.
absl::StatusOr<SavedModel> ToSavedModel(const CheckpointContents& contents);

// Saves it in the place of all that the store holds, also of a higher version, as one of another learner may have.
// Where that is cut short the store may hold older ones too: of those, LoadLatest() takes the highest epoch's.
absl::Status WriteSavedModel(const SavedModel& model, CheckpointStore* store);

// The newest whole one in a folder. NOT_FOUND where there is none; else as CheckpointStore::LoadLatest and
// ToSavedModel. Blocks on the disk.
absl::StatusOr<SavedModel> LoadSavedModel(const std::string& folder);

}  // namespace waggle
