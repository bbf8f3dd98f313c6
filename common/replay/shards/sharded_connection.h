#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/base/threads/mutex.h"
#include "common/replay/ports/replay.h"
#include "common/replay/shards/shard.h"

namespace waggle {

// One or several servers as one replay buffer. Every process of a run has to have them in the same order: a shard's
// number is part of the keys of its items, and its table's seed follows from it.
class ShardedReplayConnection final : public ReplayConnection {
 public:
  // 1 to kMaxShards of them.
  explicit ShardedReplayConnection(std::vector<std::shared_ptr<Shard>> shards, absl::Duration patience = kShardPatience)
      : shards_(std::move(shards)), patience_(patience) {}

  // Creates each shard's part. Waits for the first one as long as it takes, and for the others `patience` longer:
  // those that are not there by then get theirs when they are.
  absl::Status CreateTable(const TableConfig& config, const StopToken& stop) override;
  absl::StatusOr<std::unique_ptr<ReplayWriter>> NewWriter(const ReplayWriterOptions& options) override;
  absl::StatusOr<std::unique_ptr<ReplaySampler>> NewSampler(const ReplaySamplerOptions& options) override;
  absl::StatusOr<std::unique_ptr<PriorityUpdater>> NewPriorityUpdater(const std::string& table) override;

 private:
  const std::vector<std::shared_ptr<Shard>> shards_;
  const absl::Duration patience_;
  Mutex mutex_;
  std::set<std::string> take_magnitudes_ ABSL_GUARDED_BY(mutex_);  // Of the tables created here.
};

}  // namespace waggle
