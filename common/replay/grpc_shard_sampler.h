#pragma once

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "common/net/stream_keeper.h"
#include "common/replay/replay_link.h"
#include "common/replay/shards/shard.h"

namespace waggle {

// A ShardSampler with its own stream.
class GrpcShardSampler final : public ShardSampler {
 public:
  // `options` must be valid, with this shard's part of the table. RESOURCE_EXHAUSTED if a batch is too large.
  static absl::StatusOr<std::unique_ptr<ShardSampler>> Create(std::shared_ptr<ReplayLink> link,
                                                              const ReplaySamplerOptions& options, size_t shard,
                                                              std::shared_ptr<ShardSampleReceiver> receiver);

  void Ask(absl::Span<const ShardAsk> asks) override;

 private:
  class State;
  class Handler;

  GrpcShardSampler(std::shared_ptr<ReplayLink> link, std::shared_ptr<State> state, size_t shard,
                   std::shared_ptr<ShardSampleReceiver> receiver);

  const std::shared_ptr<ReplayLink> link_;
  const std::shared_ptr<State> state_;  // Shared with the streams' handlers.
  StreamKeeper keeper_;                 // Last: it uses everything above.
};

}  // namespace waggle
