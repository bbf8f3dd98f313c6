#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/base/threads/mutex.h"
#include "common/replay/ports/replay.h"
#include "common/replay/shards/shard.h"

namespace waggle {

// One or several servers as one replay buffer. All processes of a run must have them in the same order: a shard's
// number is part of its items' keys and of its table's seed.
class ShardedReplayConnection final : public ReplayConnection {
 public:
  // Takes 1 to kMaxShards shards.
  explicit ShardedReplayConnection(std::vector<std::shared_ptr<Shard>> shards, absl::Duration patience = kShardPatience)
      : shards_(std::move(shards)), patience_(patience) {}

  // Asks all shards at once.
  absl::Status Checkpoint(const ReplayCut& cut, const StopToken& stop) override;
  // Creates each shard's part. Waits without limit for the first shard, then `patience` for the others. Late shards get
  // theirs when they answer.
  absl::Status CreateTable(const TableConfig& config, const StopToken& stop) override;
  absl::StatusOr<std::unique_ptr<ReplayWriter>> NewWriter(const ReplayWriterOptions& options) override;
  absl::StatusOr<std::unique_ptr<ReplaySampler>> NewSampler(const ReplaySamplerOptions& options) override;
  absl::StatusOr<std::unique_ptr<PriorityUpdater>> NewPriorityUpdater(const std::string& table) override;

 private:
  const std::vector<std::shared_ptr<Shard>> shards_;
  const absl::Duration patience_;
  Mutex mutex_;
  std::set<std::string> take_magnitudes_ ABSL_GUARDED_BY(mutex_);  // Names of tables created here.
};

}  // namespace waggle
