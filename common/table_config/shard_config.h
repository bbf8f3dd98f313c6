#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/table_config/table_config.h"

// One logical table spread over several servers ("shards"), each of which holds a part of it.

namespace waggle {

inline constexpr int64_t kMaxShards = 1024;

// The configuration of shard `shard` of `shards`: limits are divided so that the parts add up to the whole, but for
// min_items, of which each has at least 1; the seeds differ. With one shard it is the configuration itself.
// INVALID_ARGUMENT for a configuration that is not valid, or that cannot be divided by so many: the message says which
// setting is too small.
absl::StatusOr<TableConfig> ShardConfig(const TableConfig& config, int64_t shard, int64_t shards);

// FAILED_PRECONDITION if batches of this size might never be drawn from so many shards, because inserts into one could
// be blocked before it alone allows a batch; says which setting is too small, and what would do. More is asked here
// than of one table: however unevenly the shards are written to, whoever waits at one of them is let go on by samples
// that this one can carry alone.
absl::Status CheckShardedBatch(const TableConfig& config, int64_t shards, int64_t batch_size);

}  // namespace waggle
