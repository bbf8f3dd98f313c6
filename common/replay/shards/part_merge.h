#pragma once

#include <cstdint>

#include "absl/types/span.h"
#include "common/config/table/batch_layout.h"
#include "common/replay/ports/replay.h"
#include "common/replay/shards/sharded_draws.h"

// Merges the shards' parts of a batch.

namespace waggle {

// Copies a part's items to rows `first_row`… of the batch. Both layouts differ only in their number of items.
void PlacePart(const BatchLayout& layout, const SampledBatch& part, int64_t first_row, char* bytes);

// Adds the shard's number to each key, and makes each probability that of a draw from the whole batch.
void FinishRows(const BatchLayout& layout, const ShardedDraws::Complete& complete, char* bytes);

}  // namespace waggle
