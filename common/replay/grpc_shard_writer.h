#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "common/net/stream_keeper.h"
#include "common/replay/ports/replay.h"
#include "common/replay/replay_link.h"
#include "common/replay/shards/shard.h"

namespace waggle {

// A ShardWriter with its own stream. Blocks are numbered and kept until the server acknowledges them. A new stream
// begins with the first block that the server has not applied. If the server has lost this writer's state, acknowledged
// blocks are lost. The others are numbered anew and sent again.
class GrpcShardWriter final : public ShardWriter {
 public:
  // `options` must be valid. `changed` as in Shard::NewWriter.
  GrpcShardWriter(std::shared_ptr<ReplayLink> link, const ReplayWriterOptions& options, std::function<void()> changed);

  absl::Status Offer(InsertBlock block) override;
  State state() const override;

 private:
  class Blocks;
  class Handler;

  const std::shared_ptr<ReplayLink> link_;
  const std::vector<ArraySpec> signature_;
  const std::vector<Codec> codecs_;       // By column.
  const std::shared_ptr<Blocks> blocks_;  // Shared with the streams' handlers.
  StreamKeeper keeper_;                   // Last: it uses everything above.
};

}  // namespace waggle
