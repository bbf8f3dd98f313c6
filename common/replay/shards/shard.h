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

// One of the servers of a buffer, as their client knows it. Over gRPC in common/replay/replay_client.cc.

namespace waggle {

// How long a shard that gives no sign is waited for where others are there.
inline constexpr absl::Duration kShardPatience = absl::Seconds(3);

// Blocks on their way to one shard, which are kept until they are acknowledged.
class ShardWriter {
 public:
  virtual ~ShardWriter() = default;

  // Takes the block, however many wait already, and returns at once. An error is final.
  virtual absl::Status Offer(InsertBlock block) = 0;

  struct State {
    bool connected = false;  // The server has answered on the present stream.
    int64_t blocks = 0;      // Unacknowledged.
    int64_t bytes = 0;
    uint64_t acknowledged = 0;  // Blocks, ever.
    uint64_t items_inserted = 0;
    uint64_t items_without_rows = 0;
    absl::Status failure;  // Final.
  };
  virtual State state() const = 0;
};

// What becomes of what a shard was asked. The calls for one shard come one at a time, from any thread, and never from
// within Ask.
class ShardSampleReceiver {
 public:
  virtual ~ShardSampleReceiver() = default;

  // A stream is open: the shard can be asked.
  virtual void Opened(size_t shard) = 0;
  // A piece of an answer has come.
  virtual void Heard(size_t shard) = 0;
  // Answers come in the order in which was asked. An error ends the stream for good: Failed follows.
  virtual absl::Status Answered(size_t shard, SampledBatch answer) = 0;
  // The stream has ended: what it was asked will not be answered.
  virtual void Closed(size_t shard) = 0;
  // An error that no attempt can mend.
  virtual void Failed(size_t shard, absl::Status failure) = 0;
};

// What a shard's table is asked for.
struct ShardAsk {
  size_t shard = 0;
  uint32_t items = 0;      // In a batch; 0: only its header.
  uint32_t counted = 0;    // Samples that the limiter counts for it.
  uint32_t waits_for = 0;  // For people, if `items` is 0: the items that are waited for.
};

// Draws from one shard's table, on a stream that is opened again whenever it has ended. No call to the receiver comes
// after its end.
class ShardSampler {
 public:
  virtual ~ShardSampler() = default;

  // Asks for these batches, in this order. Returns at once; without a stream it does nothing.
  virtual void Ask(absl::Span<const ShardAsk> asks) = 0;
};

// Thread-safe; what is made here may outlive it.
class Shard {
 public:
  virtual ~Shard() = default;

  // For people: where it is.
  virtual std::string name() const = 0;

  // As ReplayConnection's: waits for a server that is not there.
  virtual absl::Status CreateTable(const TableConfig& config, const StopToken& stop) = 0;
  // Has the table created once the server is there and does not have it.
  virtual void WantTable(const TableConfig& config) = 0;

  // `options` are valid. `changed` is called, from any thread and without a lock, after the writer's state has changed
  // other than by Offer.
  virtual absl::StatusOr<std::unique_ptr<ShardWriter>> NewWriter(const ReplayWriterOptions& options,
                                                                 std::function<void()> changed) = 0;
  // `options` are valid, and of this shard's part of the table. The receiver knows it as `shard`, and may be called
  // before this returns.
  virtual absl::StatusOr<std::unique_ptr<ShardSampler>> NewSampler(const ReplaySamplerOptions& options, size_t shard,
                                                                   std::shared_ptr<ShardSampleReceiver> receiver) = 0;
  virtual absl::StatusOr<std::unique_ptr<PriorityUpdater>> NewPriorityUpdater(const std::string& table) = 0;
};

}  // namespace waggle
