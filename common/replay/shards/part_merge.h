#pragma once

#include <cstdint>

#include "absl/types/span.h"
#include "common/config/table/batch_layout.h"
#include "common/replay/ports/replay.h"
#include "common/replay/shards/sharded_draws.h"

// One batch out of the parts of it that shards have drawn.

namespace waggle {

// Copies a part's items to the rows from `first_row` on of the batch in `bytes`, which has this layout. The part's
// layout is the same, but for its number of items.
void PlacePart(const BatchLayout& layout, const SampledBatch& part, int64_t first_row, char* bytes);

// Makes what a shard says of its items true of the whole: the key says which shard's it is, and the probability is that
// of the batch's draw.
void FinishRows(const BatchLayout& layout, const ShardedDraws::Complete& complete, char* bytes);

}  // namespace waggle
