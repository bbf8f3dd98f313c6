#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/base/tensor/array_spec.h"
#include "common/base/tensor/byte_slices.h"

namespace waggle {

struct CheckpointArray {
  ArraySpec spec;
  ByteSlices data;  // Little-endian, row-major, spec.NumBytes() bytes.
};

// The content of a checkpoint of a run.
struct CheckpointContents {
  int64_t step = 0;                          // The learner's; not negative.
  std::map<std::string, std::string> texts;  // By valid name; UTF-8. For small data: counters, generators.
  std::vector<CheckpointArray> arrays;       // Names must be unique and not "__metadata__".

  // INVALID_ARGUMENT if a rule above is broken. Does not check that texts are UTF-8.
  absl::Status Validate() const;
};

// Name of the text that identifies the checkpoint's run. A run that continues from a checkpoint is the same run.
inline constexpr char kCheckpointRun[] = "run";
// Name of the text with the epoch in which the parameter server took weights. Higher epochs are newer at any step.
inline constexpr char kCheckpointEpoch[] = "epoch";
// Names of texts beside a learner's state: its algorithm, and the experiment's YAML.
inline constexpr char kCheckpointAlgorithm[] = "algorithm";
inline constexpr char kCheckpointExperiment[] = "experiment";
// Name of the text with the serial of the last order of a population (Exploit) that the learner has obeyed.
inline constexpr char kCheckpointExploit[] = "exploit";
// Name of the text "ITEMS STEPS" of a learner in lock-step: the items and learner steps from which its turns count.
inline constexpr char kCheckpointCounted[] = "counted";

}  // namespace waggle
