#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "common/base/random.h"
#include "common/replay/ports/replay.h"
#include "common/replay/ports/sampler_options.h"
#include "common/replay/shards/draw_plan.h"
#include "common/replay/shards/shard.h"
#include "common/replay/shards/shard_batch.h"
#include "common/replay/shards/shard_standing.h"

namespace waggle {

struct ShardedDrawsOptions {
  TableConfig table;                // The whole table.
  std::vector<TableConfig> shards;  // Its parts.
  int64_t batch_size = 0;
  int64_t prefetch = 1;                            // Begun or ready batches; 0: one, while one is wanted.
  int64_t max_outstanding = kMaxOutstandingDraws;  // Open requests to one shard.
  // A shard without an answer for so long is left out, if another one answers. Requests do not wait in tables, so a
  // healthy shard answers at once.
  absl::Duration patience = kShardPatience;
  bool awaits_all = false;  // Batches wait for all shards, lost ones too. The patience is infinite then.
  // The first and the longest pause between requests to tables that do not allow a batch.
  absl::Duration first_pause = absl::Milliseconds(1);
  absl::Duration longest_pause = absl::Milliseconds(20);
};

// Decides how much each shard is asked for, so that batches are as those of one table. Takes events and times, and
// returns requests. Has no bytes, threads or clocks. Not thread-safe.
//
// A batch begins as soon as the shards allow it. Each shard is then asked, even for 0 items, because its answer has its
// table's state. The share of a lost shard is drawn from the others.
//
// A single shard is asked for whole batches, which its server holds until the table allows them.
class ShardedDraws {
 public:
  // The configurations must be valid and fit each other.
  explicit ShardedDraws(ShardedDrawsOptions options);

  using Rows = ShardRows;
  using Complete = CompleteShardBatch;

  // Events. A shard takes requests from Opened until Closed.
  void Opened(size_t shard, absl::Time now);
  void Heard(size_t shard, absl::Time now);
  void Closed(size_t shard, absl::Time now);
  // The shard has answered its oldest request; nullopt if it has none. Rows with batch 0 must be dropped. Others must
  // be copied to their batch and then be Stored.
  std::optional<Rows> Answered(size_t shard, const ShardFacts& facts, absl::Time now);
  void Stored(const Rows& rows, absl::Time now);
  // Needed with a prefetch of 0: a batch is wanted until it is taken, from the items that the shards have now.
  void Want(absl::Time now);
  void Tick(absl::Time now);

  // True if the oldest begun batch is complete.
  bool ready() const { return !batches_.empty() && batches_.front().Ready(); }
  // Returns the oldest begun batch if it is complete.
  std::optional<Complete> Take(absl::Time now);

  // True if the batch was begun and not taken.
  bool Has(uint64_t number) { return Find(number) != nullptr; }

  // Returns the requests that must be sent now, in order.
  std::vector<ShardAsk> TakeAsks();
  // The next time to call Tick.
  absl::Time NextTick() const;

  // True if the shard is left out as lost, also if it never came and was waited for.
  bool Missing(size_t shard) const;
  int64_t missing_shards() const;

 private:
  using Asked = ShardStanding::Asked;
  using Batch = ShardBatch;

  bool IsSingle() const { return shards_.size() == 1; }
  int64_t BatchesWanted() const { return options_.prefetch > 0 ? options_.prefetch : wanted_ ? 1 : 0; }
  bool Started() const;
  bool MayStart() const;
  bool MayBegin() const;
  bool Begin(Batch* batch, absl::Time now);
  void BeginBatches(absl::Time now);
  void Poll(absl::Time now);
  void Look(size_t shard, absl::Time now);
  void AskFor(size_t shard, const Asked& asked, int64_t waits_for = 0);
  void LosePart(size_t shard, const Asked& lost, absl::Time now);
  void Restart(Batch* batch);
  void LoseShard(size_t shard, absl::Time now);
  void FindLate(absl::Time now);
  Batch* Find(uint64_t number);
  void Advance(absl::Time now);

  const ShardedDrawsOptions options_;
  Rng rng_;
  std::vector<ShardStanding> shards_;
  std::deque<Batch> batches_;
  std::vector<ShardAsk> asks_;
  bool wanted_ = false;  // With a prefetch of 0.
  uint64_t last_number_ = 0;
  absl::Time first_opened_ = absl::InfiniteFuture();  // Since all shards were lost for the last time.
  absl::Duration pause_;
  absl::Time next_poll_ = absl::InfiniteFuture();
  absl::Time next_late_check_ = absl::InfinitePast();
};

}  // namespace waggle
