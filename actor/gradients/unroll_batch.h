#pragma once

#include "absl/status/statusor.h"
#include "common/config/plan/table_plan.h"
#include "common/nn/torch.h"
#include "common/replay/ports/replay.h"
#include "common/rl/kit/batches.h"

namespace waggle {

// The batch that a learner would sample from a table with this block: its items are the batch's rows. `table` must be
// of unrolls. INVALID_ARGUMENT unless every chunk of the block is a whole unroll, and an item.
absl::StatusOr<TensorBatch> UnrollBatch(const InsertBlock& block, const TablePlan& table, torch::Device device);

}  // namespace waggle
