#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/threads/thread.h"
#include "common/replay/ports/replay.h"
#include "common/replay/shards/shard.h"

namespace waggle {

// A ReplaySampler over shards. Each batch is drawn from all of them at once, as if they were one table: see
// ShardedDraws. With several lost shards, or all, it waits until one is back.
class ShardedSampler final : public ReplaySampler {
 public:
  // INVALID_ARGUMENT for options that can never work. A batch that the table's limits never allow is Next's error.
  static absl::StatusOr<std::unique_ptr<ReplaySampler>> Create(const std::vector<std::shared_ptr<Shard>>& shards,
                                                               const ReplaySamplerOptions& options,
                                                               absl::Duration patience = kShardPatience);
  ~ShardedSampler() override;

  absl::StatusOr<SampledBatch> Next(const StopToken& stop) override;
  Stats stats() const override;

 private:
  class State;

  ShardedSampler(std::shared_ptr<State> state, std::vector<std::unique_ptr<ShardSampler>> samplers);

  const std::shared_ptr<State> state_;  // Shared with what the shards' answers come to.
  const std::vector<std::unique_ptr<ShardSampler>> samplers_;
  Thread thread_;  // Tells the state of the time. Last: it uses everything above.
};

}  // namespace waggle
