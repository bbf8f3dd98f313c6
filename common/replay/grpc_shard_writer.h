#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "common/net/stream_keeper.h"
#include "common/replay/ports/replay.h"
#include "common/replay/replay_link.h"
#include "common/replay/shards/shard.h"

namespace waggle {

// A ShardWriter on a stream of its own. Blocks are numbered and kept until they are acknowledged; a new stream begins
// with what its server has not applied. If the server has lost what it knew of this writer, the blocks that it has not
// acknowledged are numbered anew and sent again; what it had acknowledged is lost with it.
class GrpcShardWriter final : public ShardWriter {
 public:
  // `options` are valid. `changed` as in Shard::NewWriter.
  GrpcShardWriter(std::shared_ptr<ReplayLink> link, const ReplayWriterOptions& options, std::function<void()> changed);

  absl::Status Offer(InsertBlock block) override;
  State state() const override;

 private:
  class Blocks;
  class Handler;

  const std::shared_ptr<ReplayLink> link_;
  const std::vector<ArraySpec> signature_;
  const std::vector<Codec> codecs_;       // By column.
  const std::shared_ptr<Blocks> blocks_;  // Shared with the handlers of its streams.
  StreamKeeper keeper_;                   // Last: it uses everything above.
};

}  // namespace waggle
