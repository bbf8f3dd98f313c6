#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "common/api/replay.h"
#include "common/replay_client/replay_link.h"
#include "common/rpc/stream_keeper.h"

namespace waggle {

// A ReplaySampler on a stream of its own, which keeps `prefetch` batches, and at least half of that, asked for or
// ready. Their pieces are put together in the memory that the learner gets, which is used again when it has let it go.
class GrpcReplaySampler final : public ReplaySampler {
 public:
  // INVALID_ARGUMENT for options that can never work; RESOURCE_EXHAUSTED for a batch that is too large.
  static absl::StatusOr<std::unique_ptr<ReplaySampler>> Create(std::shared_ptr<ReplayLink> link,
                                                               ReplaySamplerOptions options);

  absl::StatusOr<SampledBatch> Next(const StopToken& stop) override;
  Stats stats() const override;

 private:
  class State;
  class Handler;

  GrpcReplaySampler(std::shared_ptr<ReplayLink> link, const ReplaySamplerOptions& options,
                    std::shared_ptr<const BatchLayout> layout);

  const std::shared_ptr<ReplayLink> link_;
  const std::shared_ptr<State> state_;  // Shared with the handlers of its streams.
  StreamKeeper keeper_;                 // Last: it uses everything above.
};

}  // namespace waggle
