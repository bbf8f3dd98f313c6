#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "common/api/sampler_options.h"
#include "common/base/executor.h"
#include "common/rpc/message.h"
#include "common/rpc/stream_handler.h"
#include "replay_server/batch_memory.h"
#include "replay_server/byte_budget.h"
#include "replay_server/table/replay_store.h"
#include "waggle/v1/replay.pb.h"

namespace waggle {

struct SampleStreamOptions {
  int64_t max_batch_bytes = int64_t{512} << 20;
  uint32_t max_batch_items = 65536;             // Drawing is done under the table's lock.
  uint32_t max_credits = kMaxOutstandingDraws;  // A client that gives more at a time is refused.
  // Batches being gathered or sent. One is always allowed, so that a batch larger than the bytes can pass.
  int64_t max_batches_in_flight = 16;
  int64_t max_bytes_in_flight = int64_t{32} << 20;
  // Larger batches are gathered on the executor, so that this does not hold up the transport's few threads.
  int64_t max_inline_bytes = int64_t{64} << 10;
  // Called with the number of items of each batch that was sampled; may be empty.
  std::function<void(uint64_t items)> on_sampled;

  // INVALID_ARGUMENT naming every field that is wrong.
  absl::Status Validate() const;
};

// One sampler's stream: answers every credit by a batch, in pieces that share the gathered memory. Batches are sampled
// only as fast as the client reads, so one that stops reading costs a bounded amount of memory; and all streams
// together gather no more than their budget allows. A batch has its share of it from when it is drawn, never while it
// waits for its table: nobody waits for bytes that are kept for what may not come.
class SampleStream final : public StreamHandler<Message<v1::SampleRequest>, Message<v1::SampleResponse>> {
 public:
  // Store and executor outlive the handler.
  // What its batches take in memory comes out of `budget`, and is had from `memory`; all streams of a server share
  // both. `peer` is where the sampler is, for people to read where it has not said who it is.
  SampleStream(ReplayStore* store, Executor* executor, Executor* disk_executor, std::shared_ptr<ByteBudget> budget,
               std::shared_ptr<BatchMemory> memory, SampleStreamOptions options, std::string peer = "");
  // Cancels the batches that wait for their table.
  ~SampleStream() override;

  void OnOpen(std::shared_ptr<StreamPeer<Message<v1::SampleResponse>>> peer) override;
  void OnMessage(Message<v1::SampleRequest> message) override;
  void OnPeerDone() override;

 private:
  class State;

  absl::Status Open(const v1::SampleOpen& open);

  ReplayStore* const store_;
  const std::string peer_;
  // Shared with the callbacks of batches that wait in a table: they may come after the stream's end.
  const std::shared_ptr<State> state_;
};

}  // namespace waggle
