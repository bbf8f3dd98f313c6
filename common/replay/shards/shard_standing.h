#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "common/config/table/table_config.h"

namespace waggle {

// What a shard says of its table with each answer.
struct ShardFacts {
  int64_t items = 0;
  double priority_sum = 0;
  double min_probability = 0;
  double samples_allowed = 0;
  uint64_t incarnation = 0;
  absl::Time sampled_at = absl::InfiniteFuture();  // By SteadyNow().
};

// What a sampler knows of one shard, and has asked it for. A value; all decisions are ShardedDraws'.
struct ShardStanding {
  // The table is this shard's part of the whole one.
  explicit ShardStanding(TableConfig config) : table(std::move(config)) {}

  // A draw that was asked for and is not answered.
  struct Asked {
    uint64_t batch = 0;  // 0: of none, or not wanted any more.
    int64_t first_row = 0;
    int64_t items = 0;
    int64_t counted = 0;
    absl::Time at;
  };

  TableConfig table;
  bool open = false;
  bool was_open = false;  // Ever, or waited for long enough.
  bool came = false;      // The same, since all were lost for the last time.
  bool late = false;
  absl::Time heard;
  absl::Time asked_at = absl::InfinitePast();  // For the last time.
  std::deque<Asked> asked;
  int64_t owed_counted = 0;  // Of these.
  int64_t owed_items = 0;
  int64_t outstanding = 0;  // Of these, those that were given out: the first.
  bool known = false;       // The facts are of the present stream.
  ShardFacts facts;
  std::optional<uint64_t> drawn_from;  // The incarnation of its table that batches were drawn from last.

  bool Usable() const { return open && !late; }
  // Whether its table, as it was last heard of, would give a draw without waiting.
  bool Drawable() const;
  // Samples that its limiter allows beyond what it was asked for.
  int64_t Allowed() const;
  // The most items of a batch that may be drawn from it.
  int64_t Cap() const;
  // Whether inserts into it wait for samples, or push items out.
  bool TakesNoMore() const;
  // Whether batches were drawn from the table that it has.
  bool Started() const { return Usable() && known && drawn_from == facts.incarnation; }
  // When it has given no sign of life for so long; never while it was asked nothing.
  absl::Time LateAt(absl::Duration patience) const;
};

// By shard, what the share of a batch that is drawn from it is proportional to, under the whole table's sampler: 0 for
// those that cannot be drawn from.
std::vector<double> DrawWeights(const std::vector<ShardStanding>& shards, const TableConfig& table);

}  // namespace waggle
