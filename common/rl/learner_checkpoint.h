#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/checkpoint/checkpoint_store.h"
#include "common/rl/trainee.h"

namespace waggle {

// All that a learner needs to go on at `step`: the algorithm's state, copied to the CPU. `algorithm_name` is kept
// beside it; the caller may add texts of its own, whose names do not begin with "state/". INTERNAL where two parts of
// the state have one name.
absl::StatusOr<CheckpointContents> SaveLearner(int64_t step, const std::string& algorithm_name, Trainee* trainee);

// Puts that back; the step to go on with is `contents.step`. FAILED_PRECONDITION, saying what was got and what was
// wanted, if it is the state of another algorithm or network; the algorithm is then as before.
absl::Status RestoreLearner(const CheckpointContents& contents, const std::string& algorithm_name, Trainee* trainee);

}  // namespace waggle
