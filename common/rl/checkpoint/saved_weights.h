#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/hub/ports/model.h"
#include "common/rl/checkpoint/checkpoint_store.h"

namespace waggle {

enum class SavedKind {
  kRandom,   // An experiment's file, for random actions.
  kBest,     // A run's weights with the best evaluation.
  kNewest,   // A run's weights published last.
  kWeights,  // A folder of weights that may be either.
  kLearner,  // A learner's checkpoint; it may be trained further than the published weights.
};

// "random", "best", "newest", "weights", "learner_checkpoint".
const char* SavedKindName(SavedKind kind);

// Saved weights, read from the disk.
struct SavedWeights {
  SavedKind kind = SavedKind::kWeights;
  std::string folder;  // The exact folder; the file for kRandom.
  std::string experiment_yaml;
  std::optional<ModelSnapshot> snapshot;      // Absent for kLearner and kRandom.
  std::optional<double> env_steps;            // Absent for kLearner and kRandom.
  std::optional<CheckpointContents> learner;  // The learner's state; an algorithm makes a snapshot from it.
};

// Loads the weights at `path`. For a run's folder, an experiment's folder in a parameter server's data folder
// (".../experiments/ID") or a data folder with one experiment these are the best weights; the newest if `newest` asks
// for them or there are no best; else the learner's checkpoint. For a folder of weights or checkpoints it is the newest
// whole one. A path may also name a checkpoint (".../step-000000012345"). A file FILE.yaml or FILE.yml is an
// experiment's, and is not checked yet.
//
// NOT_FOUND, naming the experiments, for a data folder with several; NOT_FOUND or INVALID_ARGUMENT, naming valid paths,
// if there are no weights; DATA_LOSS if they are damaged. Blocks on the disk.
absl::StatusOr<SavedWeights> LoadSavedWeights(const std::string& path, bool newest);

// The same for trained weights alone: an experiment's file is INVALID_ARGUMENT.
absl::StatusOr<SavedWeights> LoadTrainedWeights(const std::string& path, bool newest);

// Loads from a folder: the learner's newest checkpoint, which has all networks, before any published weights. Errors as
// above.
absl::StatusOr<SavedWeights> LoadSavedNetworks(const std::string& path);

}  // namespace waggle
