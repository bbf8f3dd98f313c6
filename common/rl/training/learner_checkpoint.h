#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/rl/checkpoint/checkpoint_store.h"
#include "common/rl/training/trainee.h"

namespace waggle {

// The state that a learner needs to continue at `step`, on the CPU, with `algorithm_name`. The caller may add texts
// whose names do not begin with "state/". INTERNAL if two parts of the state have one name.
absl::StatusOr<CheckpointContents> SaveLearner(int64_t step, const std::string& algorithm_name, Trainee* trainee);

// Restores the state. The learner continues at `contents.step`. FAILED_PRECONDITION, with what was got and wanted, if
// it is another algorithm's or network's; nothing is changed then.
absl::Status RestoreLearner(const CheckpointContents& contents, const std::string& algorithm_name, Trainee* trainee);

}  // namespace waggle
