#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/api/model.h"
#include "common/checkpoint/checkpoint_store.h"

namespace waggle {

enum class SavedKind {
  kRandom,   // Nothing was trained: an experiment's file, for random actions.
  kBest,     // Of a run: the weights that did best when they were evaluated.
  kNewest,   // Of a run: those published last.
  kWeights,  // Of a folder that is not known to be either.
  kLearner,  // A learner's checkpoint, whose networks may be trained further than what was published.
};

// "random", "best", "newest", "weights", "learner_checkpoint".
const char* SavedKindName(SavedKind kind);

// What was trained, read from the disk.
struct SavedWeights {
  SavedKind kind = SavedKind::kWeights;
  std::string folder;  // Where exactly; of kRandom the file.
  std::string experiment_yaml;
  std::optional<ModelSnapshot> snapshot;      // Absent in a learner's checkpoint, and of kRandom…
  std::optional<double> env_steps;            // …and this too.
  std::optional<CheckpointContents> learner;  // The learner's state, which an algorithm makes a snapshot from.
};

// What `path` holds: that of a run's folder, of an experiment's in a parameter server's data folder
// (".../experiments/ID"), or of a data folder with one experiment, is its best weights, or its newest where there are
// no best ones or `newest` asks for them, or else the learner's checkpoint; that of a folder of weights or checkpoints
// is the newest whole one; and a checkpoint may be named itself (".../step-000000012345"). A file FILE.yaml or FILE.yml
// is an experiment's, which is not checked yet.
//
// NOT_FOUND, naming them, of a data folder with several experiments; NOT_FOUND or INVALID_ARGUMENT where there is
// nothing of that kind, saying what would be right; DATA_LOSS where what there is is damaged. Blocks on the disk.
absl::StatusOr<SavedWeights> LoadSavedWeights(const std::string& path, bool newest);

}  // namespace waggle
