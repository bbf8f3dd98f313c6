#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/threads/thread.h"
#include "common/replay/ports/replay.h"
#include "common/replay/shards/shard.h"

namespace waggle {

// A ReplaySampler over shards. Draws each batch from all shards as from one table: see ShardedDraws. Waits while all
// are lost, and while the others do not allow a batch.
class ShardedSampler final : public ReplaySampler {
 public:
  // INVALID_ARGUMENT for options that can never work. Next returns the error of an impossible batch.
  static absl::StatusOr<std::unique_ptr<ReplaySampler>> Create(const std::vector<std::shared_ptr<Shard>>& shards,
                                                               const ReplaySamplerOptions& options,
                                                               absl::Duration patience = kShardPatience);
  ~ShardedSampler() override;

  absl::StatusOr<SampledBatch> Next(const StopToken& stop) override;
  Stats stats() const override;

 private:
  class State;

  ShardedSampler(std::shared_ptr<State> state, std::vector<std::unique_ptr<ShardSampler>> samplers);

  const std::shared_ptr<State> state_;  // Shared with the shards' samplers.
  const std::vector<std::unique_ptr<ShardSampler>> samplers_;
  Thread thread_;  // Runs State::Run. Last: it uses everything above.
};

}  // namespace waggle
