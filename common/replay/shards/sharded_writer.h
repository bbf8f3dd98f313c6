#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/threads/mutex.h"
#include "common/replay/ports/replay.h"
#include "common/replay/shards/lane_router.h"
#include "common/replay/shards/shard.h"

namespace waggle {

// A ReplayWriter over shards. A new stream or episode goes to the shard with the fewest streams among those with room,
// in turn if several have as few. So data is spread evenly for any number of streams, and streams leave slow shards.
//
// The streams of a lost shard move at once. Windows that reach back over the move are dropped. The lost shard gets its
// unacknowledged blocks when it is back; they do not count against the others' room. Append blocks while the present
// shards have no room together. A shard without an acknowledgement for `patience`, while others make progress or have
// room, then counts as lost: it may be paused, or its limiter may wait for samples.
//
// With awaits_all_shards no shard counts as lost, and the choice of a stream's shard follows from the blocks alone.
class ShardedWriter final : public ReplayWriter {
 public:
  // INVALID_ARGUMENT for options that can never work.
  static absl::StatusOr<std::unique_ptr<ReplayWriter>> Create(const std::vector<std::shared_ptr<Shard>>& shards,
                                                              const ReplayWriterOptions& options,
                                                              absl::Duration patience = kShardPatience);

  absl::Status Append(InsertBlock block, const StopToken& stop) override;
  absl::Status Flush(absl::Duration timeout) override;
  // The counts are sums. items_without_rows includes windows that were dropped by a move.
  Stats stats() const override;

 private:
  struct Shared;  // Shared with the callbacks of the shards' writers.
  struct Health {
    bool was_connected = false;
    bool stuck = false;
    uint64_t acknowledged = 0;  // At the last Look.
    absl::Time moved;           // The last change of `acknowledged`, or the last time without waiting blocks.
  };

  ShardedWriter(const ReplayWriterOptions& options, size_t shards, absl::Duration patience,
                std::shared_ptr<Shared> shared);

  // Reads the shards' states. Returns the first failure.
  absl::Status Look();
  bool HasRoom(int64_t bytes) const;
  absl::Status AwaitRoom(int64_t bytes, const StopToken& stop);
  void FindStuck(absl::Time now);
  size_t Choose(const std::vector<int64_t>& lanes);
  // True if the shard has used its share of the room.
  bool Full(size_t shard) const;

  const int64_t max_blocks_;
  const int64_t max_bytes_;
  const bool awaits_all_;
  const absl::Duration patience_;
  const absl::Time began_;
  const std::shared_ptr<Shared> shared_;
  // Owned by the thread that appends.
  LaneRouter router_;
  std::vector<ShardWriter::State> states_;
  std::vector<Health> health_;
  std::vector<bool> lost_;
  size_t next_ = 0;  // The shard with the next turn.
  // Last: they use the shared state.
  std::vector<std::unique_ptr<ShardWriter>> writers_;
};

}  // namespace waggle
