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

// One sampler's stream: answers every credit with a batch, in pieces that share the gathered memory. Batches are
// sampled only as fast as the client reads, so a client that stops reading takes a bounded amount of memory. All
// streams together gather no more than their budget allows. A batch takes its share of the budget when it is drawn, not
// while it waits for its table, because it may never be drawn.
class SampleStream final : public StreamHandler<Message<v1::SampleRequest>, Message<v1::SampleResponse>> {
 public:
  // The store must outlive the handler. `peer`, the sampler's address, names a sampler without a sampler_id.
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
