#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "common/api/replay.h"
#include "common/replay_client/replay_link.h"
#include "common/replay_client/shards/shard.h"
#include "common/rpc/stream_keeper.h"

namespace waggle {

// A ReplayWriter on a stream of its own. Blocks are numbered and kept until they are acknowledged; a new stream begins
// with what its server has not applied. Where the server has lost what it knew of this writer, the blocks that it has
// not acknowledged are numbered anew and sent again; what it had acknowledged is lost with it.
class GrpcReplayWriter final : public ReplayWriter {
 public:
  // INVALID_ARGUMENT for options that can never work. `changed` as in Shard::NewWriter; may be empty.
  static absl::StatusOr<std::unique_ptr<GrpcReplayWriter>> Create(std::shared_ptr<ReplayLink> link,
                                                                  ReplayWriterOptions options,
                                                                  std::function<void()> changed = nullptr);

  absl::Status Append(InsertBlock block, const StopToken& stop) override;
  absl::Status Flush(absl::Duration timeout) override;
  Stats stats() const override;

  // As ShardWriter's.
  absl::Status Offer(InsertBlock block);
  ShardWriter::State state() const;

 private:
  class State;
  class Handler;

  GrpcReplayWriter(std::shared_ptr<ReplayLink> link, ReplayWriterOptions options, std::function<void()> changed);

  // Without `stop` it does not wait for room.
  absl::Status Append(InsertBlock block, const StopToken* stop);

  const std::shared_ptr<ReplayLink> link_;
  const std::vector<ArraySpec> signature_;
  const std::vector<Codec> codecs_;     // By column.
  const std::shared_ptr<State> state_;  // Shared with the handlers of its streams.
  StreamKeeper keeper_;                 // Last: it uses everything above.
};

}  // namespace waggle
