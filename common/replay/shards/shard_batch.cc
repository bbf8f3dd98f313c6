#include "common/replay/shards/shard_batch.h"

#include <algorithm>
#include <limits>

namespace waggle {
namespace {

// A hash of both numbers.
uint64_t Mixed(uint64_t mix, uint64_t number) {
  uint64_t z = mix * 31 + number + 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace

void ShardBatch::LoseShard(size_t shard) {
  missing[shard] = true;
  --waiting;
  const bool has_rows =
      std::any_of(rows.begin(), rows.end(), [shard](const ShardRows& some) { return some.shard == shard; });
  if (!has_rows) {
    weights[shard] = 0;  // The others give its whole share, so the batch does not depend on it.
    facts[shard].reset();
  }
}

CompleteShardBatch ShardBatch::Completed(const std::vector<ShardStanding>& shards) const {
  CompleteShardBatch complete;
  complete.number = number;
  complete.rows = rows;
  complete.shares.resize(shards.size());
  complete.min_probability = std::numeric_limits<double>::infinity();
  double all_weights = 0;
  for (const double weight : weights) {
    all_weights += weight;
  }
  for (size_t i = 0; i < shards.size(); ++i) {
    complete.shares[i] = weights[i] / all_weights;
    complete.missing_shards += missing[i] ? 1 : 0;
    complete.table_incarnation = Mixed(complete.table_incarnation, shards[i].facts.incarnation);
    if (!facts[i].has_value()) {
      continue;
    }
    complete.table_items += static_cast<uint64_t>(facts[i]->items);
    complete.priority_sum += facts[i]->priority_sum;
    complete.samples_allowed += facts[i]->samples_allowed;
    complete.sampled_at = std::min(complete.sampled_at, facts[i]->sampled_at);
    if (weights[i] > 0) {
      complete.min_probability = std::min(complete.min_probability, complete.shares[i] * facts[i]->min_probability);
    }
  }
  return complete;
}

}  // namespace waggle
