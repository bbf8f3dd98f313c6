#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/base/threads/stop_token.h"
#include "common/replay/ports/replay.h"

// A client's port to one server of a buffer. Over gRPC in common/replay/replay_client.cc.

namespace waggle {

// The longest silence of a shard, while others answer, before it counts as lost.
inline constexpr absl::Duration kShardPatience = absl::Seconds(3);

// Sends blocks to one shard, and keeps them until they are acknowledged.
class ShardWriter {
 public:
  virtual ~ShardWriter() = default;

  // Takes the block and returns at once, without a limit. An error is final.
  virtual absl::Status Offer(InsertBlock block) = 0;

  struct State {
    bool connected = false;  // The server has answered on the present stream.
    int64_t blocks = 0;      // Unacknowledged.
    int64_t bytes = 0;
    uint64_t acknowledged = 0;  // Blocks, in total.
    uint64_t items_inserted = 0;
    uint64_t items_without_rows = 0;
    absl::Status failure;  // Final.
  };
  virtual State state() const = 0;
};

// Receives a shard's answers. The calls for one shard come one at a time, from any thread, and never from within Ask.
class ShardSampleReceiver {
 public:
  virtual ~ShardSampleReceiver() = default;

  virtual void Opened(size_t shard) = 0;
  // A piece of an answer has arrived.
  virtual void Heard(size_t shard) = 0;
  // Answers come in the order of the requests. An error ends the stream for good: Failed follows.
  virtual absl::Status Answered(size_t shard, SampledBatch answer) = 0;
  // The stream has ended: open requests will not be answered.
  virtual void Closed(size_t shard) = 0;
  // Retries cannot mend the error.
  virtual void Failed(size_t shard, absl::Status failure) = 0;
};

// A request for a batch from a shard's table.
struct ShardAsk {
  size_t shard = 0;
  uint32_t items = 0;      // In the batch; 0: only its header.
  uint32_t counted = 0;    // Samples for the limiter to count.
  uint32_t waits_for = 0;  // The items that are waited for, for messages, if `items` is 0.
};

// Samples from one shard's table, on a stream that is reopened whenever it ends. Does not call the receiver after its
// destruction.
class ShardSampler {
 public:
  virtual ~ShardSampler() = default;

  // Requests batches in this order. Returns at once; does nothing without a stream.
  virtual void Ask(absl::Span<const ShardAsk> asks) = 0;
};

// Thread-safe. May be destroyed before its writers, samplers and updaters.
class Shard {
 public:
  virtual ~Shard() = default;

  // See ReplayConnection::Checkpoint.
  virtual absl::Status Checkpoint(const ReplayCut& /*cut*/, const StopToken& /*stop*/) {
    return absl::UnimplementedError("this shard has no checkpoints");
  }

  // The address, for messages.
  virtual std::string name() const = 0;

  // As ReplayConnection's, and waits for a missing server.
  virtual absl::Status CreateTable(const TableConfig& config, const StopToken& stop) = 0;
  // Creates the table as soon as the server answers and does not have it.
  virtual void WantTable(const TableConfig& config) = 0;

  // `options` must be valid. `changed` is called from any thread, without a lock, after each change of the writer's
  // state but by Offer.
  virtual absl::StatusOr<std::unique_ptr<ShardWriter>> NewWriter(const ReplayWriterOptions& options,
                                                                 std::function<void()> changed) = 0;
  // `options` must be valid, with this shard's part of the table. `shard` is its number in calls of the receiver, which
  // may come before this returns.
  virtual absl::StatusOr<std::unique_ptr<ShardSampler>> NewSampler(const ReplaySamplerOptions& options, size_t shard,
                                                                   std::shared_ptr<ShardSampleReceiver> receiver) = 0;
  virtual absl::StatusOr<std::unique_ptr<PriorityUpdater>> NewPriorityUpdater(const std::string& table) = 0;
};

}  // namespace waggle
