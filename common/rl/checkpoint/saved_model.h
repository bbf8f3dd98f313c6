#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/hub/ports/model.h"
#include "common/rl/checkpoint/checkpoint_store.h"

namespace waggle {

// Published weights and all that acting by them needs: a run's newest and best, for `waggle evaluate`.
struct SavedModel {
  ModelSnapshot snapshot;
  std::string experiment_yaml;  // Complete.
  // A line for the process that keeps the weights: a hub saves how they were evaluated. May be empty.
  std::string remark = {};
};

// Folders of CheckpointStores below the parameter server's data folder.
inline constexpr char kNewestModelFolder[] = "weights/newest";
inline constexpr char kBestModelFolder[] = "weights/best";

// As a checkpoint whose step is the version. Shares the bytes.
CheckpointContents ToCheckpoint(const SavedModel& model);

// INVALID_ARGUMENT, saying what is missing, for other checkpoints, for example a learner's state.
absl::StatusOr<SavedModel> ToSavedModel(const CheckpointContents& contents);

// Saves the model and removes all others, also higher versions, which may be another learner's. If interrupted, older
// ones may remain: LoadLatest() takes the highest epoch's.
absl::Status WriteSavedModel(const SavedModel& model, CheckpointStore* store);

// The newest intact model in a folder. NOT_FOUND if there is none; other errors are LoadLatest's and ToSavedModel's.
// Blocks on the disk.
absl::StatusOr<SavedModel> LoadSavedModel(const std::string& folder);

}  // namespace waggle
