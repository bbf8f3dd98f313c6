#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/config/table/table_config.h"

// One logical table spread over several servers ("shards"), each with a part of it.

namespace waggle {

inline constexpr int64_t kMaxShards = 1024;

// The configuration of shard `shard` of `shards`: limits are divided so that the parts add up to the whole, except
// min_items, which is at least 1 in each; the seeds differ. With one shard it is the configuration itself.
// INVALID_ARGUMENT for a configuration that is not valid, or that is too small to be divided: the message names the
// setting.
absl::StatusOr<TableConfig> ShardConfig(const TableConfig& config, int64_t shard, int64_t shards);

// FAILED_PRECONDITION if batches of this size might never be drawn from this many shards, because inserts into one
// could be blocked before it alone allows a batch. The message names the setting that is too small, and a right value.
// The demand is stricter than for one table: however unevenly the shards are written to, samples from each shard alone
// must let its waiting writers go on.
absl::Status CheckShardedBatch(const TableConfig& config, int64_t shards, int64_t batch_size);

}  // namespace waggle
