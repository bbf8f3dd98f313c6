#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/nn/state_visitor.h"
#include "common/rl/checkpoint/checkpoint_store.h"
#include "common/rl/training/trainee.h"

namespace waggle {

// The state that a learner needs to continue at `step`, on the CPU, with `algorithm_name`. The caller may add texts
// whose names do not begin with "state/". INTERNAL if two parts of the state have one name.
absl::StatusOr<CheckpointContents> SaveLearner(int64_t step, const std::string& algorithm_name, Trainee* trainee);

// Restores the state. The learner continues at `contents.step`. FAILED_PRECONDITION, with what was got and wanted, if
// it is another algorithm's or network's; nothing is changed then.
absl::Status RestoreLearner(const CheckpointContents& contents, const std::string& algorithm_name, Trainee* trainee);

// Copies the state that a visit of one object saves into another, which has the same parts. May throw as LibTorch does.
absl::Status CopyState(const std::function<void(StateVisitor*)>& from, const std::function<void(StateVisitor*)>& to);

}  // namespace waggle
