#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "common/api/replay.h"
#include "common/clients/replay_link.h"
#include "common/clients/stream_keeper.h"

namespace waggle {

// A ReplayWriter on a stream of its own. Blocks are numbered and kept until they are acknowledged; a new stream begins
// with what its server has not applied. Where the server has lost what it knew of this writer, the blocks that it has
// not acknowledged are numbered anew and sent again; what it had acknowledged is lost with it.
class GrpcReplayWriter final : public ReplayWriter {
 public:
  // INVALID_ARGUMENT for options that can never work.
  static absl::StatusOr<std::unique_ptr<ReplayWriter>> Create(std::shared_ptr<ReplayLink> link,
                                                              ReplayWriterOptions options);

  absl::Status Append(InsertBlock block, const StopToken& stop) override;
  absl::Status Flush(absl::Duration timeout) override;
  Stats stats() const override;

 private:
  class State;
  class Handler;

  GrpcReplayWriter(std::shared_ptr<ReplayLink> link, ReplayWriterOptions options);

  const std::shared_ptr<ReplayLink> link_;
  const std::shared_ptr<State> state_;  // Shared with the handlers of its streams.
  StreamKeeper keeper_;                 // Last: it uses everything above.
};

}  // namespace waggle
