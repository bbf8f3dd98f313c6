#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/replay/shards/shard_standing.h"

namespace waggle {

// Rows of a batch from one shard.
struct ShardRows {
  uint64_t batch = 0;  // The batch's number.
  size_t shard = 0;
  int64_t first = 0;
  int64_t count = 0;
};

struct CompleteShardBatch {
  uint64_t number = 0;
  std::vector<ShardRows> rows;  // All rows, without overlap.
  std::vector<double> shares;   // By shard, the probability that a draw comes from it.
  uint64_t table_items = 0;
  double priority_sum = 0;
  double min_probability = 0;
  double samples_allowed = 0;
  uint64_t table_incarnation = 0;
  int64_t missing_shards = 0;                      // Lost shards that the batch does without.
  absl::Time sampled_at = absl::InfiniteFuture();  // The earliest part's.
};

// A batch under way. A value; ShardedDraws makes all decisions.
struct ShardBatch {
  uint64_t number = 0;
  bool begun = false;
  std::vector<double> weights;                   // By shard.
  std::vector<std::optional<ShardFacts>> facts;  // By shard, from the answers.
  std::vector<bool> missing;                     // By shard.
  std::vector<ShardRows> rows;                   // Answered rows, stored or not.
  int64_t waiting = 0;                           // Missing answers and rows that are not stored.

  bool Ready() const { return begun && waiting == 0; }
  // Drops the shard's missing answer.
  void LoseShard(size_t shard);
  // Returns the batch as one of a single table. It must be ready. `shards` have their present standing.
  CompleteShardBatch Completed(const std::vector<ShardStanding>& shards) const;
};

}  // namespace waggle
