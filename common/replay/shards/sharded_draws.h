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
  TableConfig table;                // The whole one.
  std::vector<TableConfig> shards;  // The parts of it.
  int64_t batch_size = 0;
  int64_t prefetch = 1;                            // Batches begun or ready; 0: one, while one is wanted.
  int64_t max_outstanding = kMaxOutstandingDraws;  // Draws that one shard is asked for, and has not answered.
  // A shard that gives no sign for so long while another one keeps up is left out until it does. Nobody is asked for
  // what its table would make wait, so a shard that is well answers at once.
  absl::Duration patience = kShardPatience;
  // Between looks at tables that do not allow a batch yet: at first, and at most.
  absl::Duration first_pause = absl::Milliseconds(1);
  absl::Duration longest_pause = absl::Milliseconds(20);
};

// Decides which shard is asked for how much, so that the answers make batches as of one table: events and times in,
// what is to be asked out. Knows no bytes, threads or clocks. Not thread-safe.
//
// A batch is begun when the shards are known to allow it: each is then asked for its draw, also for one of nothing,
// which tells how its table has changed. What a shard that is lost owed is drawn from the others in its place.
//
// A single shard is asked for whole batches without a look at its table. Its server holds them until the table allows
// them.
class ShardedDraws {
 public:
  // The configurations are valid, and fit each other.
  explicit ShardedDraws(ShardedDrawsOptions options);

  using Rows = ShardRows;
  using Complete = CompleteShardBatch;

  // Events. A shard can be asked from Opened until Closed.
  void Opened(size_t shard, absl::Time now);
  void Heard(size_t shard, absl::Time now);
  void Closed(size_t shard, absl::Time now);
  // The shard has answered what it was asked first of all that is not answered; nullopt if it was asked nothing. Rows
  // whose batch is 0 are not wanted any more. Those of a batch count as missing until they are Stored.
  std::optional<Rows> Answered(size_t shard, const ShardFacts& facts, absl::Time now);
  void Stored(const Rows& rows, absl::Time now);
  // With a prefetch of 0: a batch is wanted until it is taken, of the items that the shards have now.
  void Want(absl::Time now);
  // Time has passed.
  void Tick(absl::Time now);

  // The next batch, in the order in which they were begun, if it is complete.
  std::optional<Complete> Take(absl::Time now);

  // Whether it was begun and not taken.
  bool Has(uint64_t number) { return Find(number) != nullptr; }

  // What is to be asked now, in this order; what Answered and Closed are told of has been asked.
  std::vector<ShardAsk> TakeAsks();
  // When Tick is to be called.
  absl::Time NextTick() const;

  // Whether the shard is left out because it is lost. One that has never been there is, once it has been waited for.
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
  // Goes on with what can be by now.
  void Advance(absl::Time now);

  const ShardedDrawsOptions options_;
  Rng rng_;
  std::vector<ShardStanding> shards_;
  std::deque<Batch> batches_;
  std::vector<ShardAsk> asks_;
  bool wanted_ = false;  // With a prefetch of 0.
  uint64_t last_number_ = 0;
  absl::Time first_opened_ = absl::InfiniteFuture();  // Since all were lost for the last time.
  absl::Duration pause_;
  absl::Time next_poll_ = absl::InfiniteFuture();
  absl::Time next_late_check_ = absl::InfinitePast();
};

}  // namespace waggle
