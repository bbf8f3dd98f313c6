#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/threads/mutex.h"
#include "common/replay/ports/replay.h"
#include "common/replay/shards/lane_router.h"
#include "common/replay/shards/shard.h"

namespace waggle {

// A ReplayWriter over shards. Each stream goes to one shard for an episode at least: the one with the fewest streams
// among those that have room, in turn where several have as few. So data is spread evenly however many streams there
// are, and streams leave a shard that falls behind.
//
// A stream whose shard is lost moves at once, and its windows that reach back over the move are dropped. Blocks that a
// lost shard has not acknowledged are sent to it when it is back; they count no more for those that are there. Append
// blocks where the shards that are there have as much unacknowledged as they may have together. A shard that
// acknowledges nothing for longer than `patience` while others do or have room is then left like a lost one: it may be
// paused, or its limiter wait for samples that are made elsewhere.
class ShardedWriter final : public ReplayWriter {
 public:
  // INVALID_ARGUMENT for options that can never work.
  static absl::StatusOr<std::unique_ptr<ReplayWriter>> Create(const std::vector<std::shared_ptr<Shard>>& shards,
                                                              const ReplayWriterOptions& options,
                                                              absl::Duration patience = kShardPatience);

  absl::Status Append(InsertBlock block, const StopToken& stop) override;
  absl::Status Flush(absl::Duration timeout) override;
  // The counts are sums; what was dropped because of a move counts as without rows.
  Stats stats() const override;

 private:
  struct Shared;  // With the callbacks of the shards' writers.
  struct Health {
    bool was_connected = false;
    bool stuck = false;
    uint64_t acknowledged = 0;  // When it was last looked at.
    absl::Time moved;           // Since when this has not changed while blocks wait.
  };

  ShardedWriter(const ReplayWriterOptions& options, size_t shards, absl::Duration patience,
                std::shared_ptr<Shared> shared);

  // Looks at the shards. The first failure, if there is one.
  absl::Status Look();
  bool HasRoom(int64_t bytes) const;
  // Waits until there is room for a block.
  absl::Status AwaitRoom(int64_t bytes, const StopToken& stop);
  void FindStuck(absl::Time now);
  size_t Choose(const std::vector<int64_t>& lanes);
  // Whether it has as much as it may have where all have as much.
  bool Full(size_t shard) const;

  const int64_t max_blocks_;
  const int64_t max_bytes_;
  const absl::Duration patience_;
  const absl::Time began_;
  const std::shared_ptr<Shared> shared_;
  // Of the thread that appends.
  LaneRouter router_;
  std::vector<ShardWriter::State> states_;
  std::vector<Health> health_;
  std::vector<bool> lost_;
  size_t next_ = 0;  // Whose turn it is.
  // Last: they use what is shared.
  std::vector<std::unique_ptr<ShardWriter>> writers_;
};

}  // namespace waggle
