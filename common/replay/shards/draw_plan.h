#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/base/random.h"
#include "common/config/table/table_config.h"
#include "common/replay/shards/shard_standing.h"

// How the draws of a batch are spread over shards, so that they come out as those of one table. Knows no batches under
// way, streams or times.

namespace waggle {

// What each shard is asked for; by shard.
struct DrawPlan {
  std::vector<double> weights;  // What its share of the batch is proportional to: 0 where it is not drawn from.
  std::vector<int64_t> items;
  std::vector<int64_t> counted;  // Samples that its limiter is to count.
};

// Of a batch of so many items, under the whole table's configuration; none while the shards do not allow one. `number`:
// the batch's, by which what cannot be counted evenly goes round.
std::optional<DrawPlan> PlanBatch(const std::vector<ShardStanding>& shards, const TableConfig& table, int64_t items,
                                  uint64_t number, Rng* rng);

// Of what a shard that is lost owed to a batch, drawn from the others in its place. `weights`: those that the batch was
// drawn with. None where the others cannot give so much.
std::optional<DrawPlan> PlanReplacement(const std::vector<ShardStanding>& shards, const TableConfig& table,
                                        const std::vector<double>& weights, size_t lost,
                                        const ShardStanding::Asked& owed, Rng* rng);

}  // namespace waggle
