#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/replay/shards/shard_standing.h"

namespace waggle {

// Rows of a batch that one shard gives.
struct ShardRows {
  uint64_t batch = 0;  // Its number.
  size_t shard = 0;    // They come from.
  int64_t first = 0;
  int64_t count = 0;
};

// A batch that is complete.
struct CompleteShardBatch {
  uint64_t number = 0;
  std::vector<ShardRows> rows;  // All of it, without overlap.
  std::vector<double> shares;   // By shard: of the probability that a draw came from it.
  uint64_t table_items = 0;
  double priority_sum = 0;
  double min_probability = 0;
  double samples_allowed = 0;
  uint64_t table_incarnation = 0;
  int64_t missing_shards = 0;                      // Left out because they were lost.
  absl::Time sampled_at = absl::InfiniteFuture();  // Of the first part.
};

// A batch under way. A value; all decisions are ShardedDraws'.
struct ShardBatch {
  uint64_t number = 0;
  bool begun = false;
  std::vector<double> weights;                   // By shard.
  std::vector<std::optional<ShardFacts>> facts;  // By shard, from the answers.
  std::vector<bool> missing;                     // By shard.
  std::vector<ShardRows> rows;                   // That are stored, or came and are not yet.
  int64_t waiting = 0;                           // Answers that have not come, and rows that are not stored.

  bool Ready() const { return begun && waiting == 0; }
  // A shard is lost that owed something to it.
  void LoseShard(size_t shard);
  // What it is as one of a single table, once it is ready. `shards`: as they stand now.
  CompleteShardBatch Completed(const std::vector<ShardStanding>& shards) const;
};

}  // namespace waggle
