#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "common/config/table/table_config.h"

namespace waggle {

// A table's state, which each answer of its shard has.
struct ShardFacts {
  int64_t items = 0;
  double priority_sum = 0;
  double min_probability = 0;
  double samples_allowed = 0;
  uint64_t incarnation = 0;
  absl::Time sampled_at = absl::InfiniteFuture();  // By SteadyNow().
};

// A sampler's knowledge of one shard, and its open requests. A value; ShardedDraws makes all decisions.
struct ShardStanding {
  // `config` is the shard's part of the table.
  explicit ShardStanding(TableConfig config) : table(std::move(config)) {}

  // A draw without an answer.
  struct Asked {
    uint64_t batch = 0;  // 0: no batch wants it.
    int64_t first_row = 0;
    int64_t items = 0;
    int64_t counted = 0;
    absl::Time at;
    bool look = false;  // It asks for the present facts.
  };

  TableConfig table;
  bool open = false;
  bool was_open = false;  // It has been open, or was waited for long enough.
  bool came = false;      // The same, since all shards were lost for the last time.
  bool late = false;
  absl::Time heard;
  absl::Time asked_at = absl::InfinitePast();  // The last request.
  std::deque<Asked> asked;
  int64_t owed_counted = 0;  // In `asked`.
  int64_t owed_items = 0;
  int64_t outstanding = 0;  // The first in `asked`, which were sent.
  int64_t looks = 0;        // In `asked`.
  bool known = false;       // The facts come from the present stream, and are as new as the last look.
  ShardFacts facts;
  std::optional<uint64_t> drawn_from;  // The incarnation of the table that gave the last batch.

  bool Usable() const { return open && !late; }
  // True if the table, by its last facts, would answer a draw without waiting.
  bool Drawable() const;
  // Samples that the limiter allows beyond the open requests.
  int64_t Allowed() const;
  // The most items of one batch that it can give.
  int64_t Cap() const;
  // True if an insert would wait for samples, or push an item out.
  bool TakesNoMore() const;
  // True if batches were drawn from its present table.
  bool Started() const { return Usable() && known && drawn_from == facts.incarnation; }
  // The time when it counts as late; infinite without an open request.
  absl::Time LateAt(absl::Duration patience) const;
};

// By shard, its weight in a batch under the whole table's sampler; 0 for shards that cannot be drawn from.
std::vector<double> DrawWeights(const std::vector<ShardStanding>& shards, const TableConfig& table);

}  // namespace waggle
