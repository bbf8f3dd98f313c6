#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "common/net/message.h"
#include "common/net/stream_handler.h"
#include "replay_server/service/sample_batches.h"
#include "replay_server/store/replay_store.h"
#include "waggle/v1/replay.pb.h"

namespace waggle {

// One sampler's stream: answers every credit by a batch, in pieces that share the gathered memory. Batches are sampled
// only as fast as the client reads, so one that stops reading costs a bounded amount of memory; and all streams
// together gather no more than their budget allows. A batch has its share of it from when it is drawn, never while it
// waits for its table: nobody waits for bytes that are kept for what may not come.
class SampleStream final : public StreamHandler<Message<v1::SampleRequest>, Message<v1::SampleResponse>> {
 public:
  // The store outlives the handler. `peer` is where the sampler is, for people to read where it has not said who it is.
  SampleStream(ReplayStore* store, SampleResources resources, SampleStreamOptions options, std::string peer = "");
  // Cancels the batches that wait for their table.
  ~SampleStream() override;

  void OnOpen(std::shared_ptr<StreamPeer<Message<v1::SampleResponse>>> peer) override;
  void OnMessage(Message<v1::SampleRequest> message) override;
  void OnPeerDone() override;

 private:
  absl::Status Open(const v1::SampleOpen& open);

  ReplayStore* const store_;
  const std::string peer_;
  const std::shared_ptr<SampleBatches> batches_;
};

}  // namespace waggle
