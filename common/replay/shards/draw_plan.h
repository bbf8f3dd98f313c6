#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/base/random.h"
#include "common/config/table/table_config.h"
#include "common/replay/shards/shard_standing.h"

// Divides a batch's draws among shards, with the same distribution as draws from one table. Pure functions.

namespace waggle {

// By shard.
struct DrawPlan {
  std::vector<double> weights;  // The batch's shares are proportional to them; 0: not drawn from.
  std::vector<int64_t> items;
  std::vector<int64_t> counted;  // Samples for the shard's limiter to count.
};

// Plans a batch under the whole table's configuration; nullopt while the shards do not allow it. `number` is the
// batch's: the remainder of an even split goes to shards in turn.
std::optional<DrawPlan> PlanBatch(const std::vector<ShardStanding>& shards, const TableConfig& table, int64_t items,
                                  uint64_t number, Rng* rng);

// Plans the replacement, from other shards, of what the lost shard owed to a batch with these weights; nullopt if they
// cannot give so much.
std::optional<DrawPlan> PlanReplacement(const std::vector<ShardStanding>& shards, const TableConfig& table,
                                        const std::vector<double>& weights, size_t lost,
                                        const ShardStanding::Asked& owed, Rng* rng);

}  // namespace waggle
