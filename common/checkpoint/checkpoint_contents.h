#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/tensor/array_spec.h"
#include "common/tensor/byte_slices.h"

namespace waggle {

struct CheckpointArray {
  ArraySpec spec;
  ByteSlices data;  // Little-endian, row-major, spec.NumBytes() bytes.
};

// What a checkpoint keeps of a run.
struct CheckpointContents {
  int64_t step = 0;                          // The learner's; not negative.
  std::map<std::string, std::string> texts;  // By valid name; UTF-8. For what is small: counters, generators.
  std::vector<CheckpointArray> arrays;       // Names are unique, and none is "__metadata__".

  // INVALID_ARGUMENT for what breaks a rule above, but for that of the texts' bytes.
  absl::Status Validate() const;
};

// The text of this name says which run a checkpoint is of. Going on from a checkpoint is the same run.
inline constexpr char kCheckpointRun[] = "run";
// The text of this name, a number, says in which epoch the parameter server took weights. Weights of a higher epoch
// are newer, whatever their step.
inline constexpr char kCheckpointEpoch[] = "epoch";
// Those of these names, beside a learner's state, say whose state it is and what was trained: the experiment's YAML.
inline constexpr char kCheckpointAlgorithm[] = "algorithm";
inline constexpr char kCheckpointExperiment[] = "experiment";

}  // namespace waggle
