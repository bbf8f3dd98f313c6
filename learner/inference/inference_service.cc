#include "learner/inference/inference_service.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/net/bidi_reactor.h"

namespace waggle {
namespace {

using Peer = StreamPeer<Message<v1::ActResponse>>;

class ActHandler final : public StreamHandler<Message<v1::ActRequest>, Message<v1::ActResponse>> {
 public:
  ActHandler(std::shared_ptr<InferenceBatcher> batcher, uint64_t network_hash)
      : batcher_(std::move(batcher)), network_hash_(network_hash) {}

  ~ActHandler() override {
    if (stream_.has_value()) {
      batcher_->Close(*stream_);
    }
  }

  void OnOpen(std::shared_ptr<Peer> peer) override { peer_ = std::move(peer); }

  void OnMessage(Message<v1::ActRequest> message) override {
    const absl::Status status = stream_.has_value() ? Ask(std::move(message)) : Open(message.header);
    if (!status.ok()) {
      peer_->Close(status);
    }
  }

  void OnPeerDone() override { peer_->Close(absl::OkStatus()); }

 private:
  absl::Status Open(const v1::ActRequest& request) {
    if (batcher_ == nullptr) {
      return absl::UnavailableError("this learner computes no actions yet");
    }
    if (!request.has_open()) {
      return absl::InvalidArgumentError("the first message opens no stream");
    }
    const v1::ActRequest::Open& open = request.open();
    if (open.network_hash() != network_hash_) {
      return absl::FailedPreconditionError(absl::StrCat("actor ", open.index(), ": got the network ",
                                                        absl::Hex(open.network_hash()), "; wanted this learner's, ",
                                                        absl::Hex(network_hash_)));
    }
    const ActLayout& layout = batcher_->layout();
    if (open.lanes() != batcher_->lanes() || open.request_row_bytes() != layout.RequestBytes() ||
        open.response_row_bytes() != layout.ResponseBytes()) {
      return absl::FailedPreconditionError(
          absl::StrCat("actor ", open.index(), " has ", open.lanes(), " lanes, ", open.request_row_bytes(),
                       " bytes per row in requests and ", open.response_row_bytes(), " in answers; wanted ",
                       batcher_->lanes(), ", ", layout.RequestBytes(), " and ", layout.ResponseBytes()));
    }
    const std::shared_ptr<Peer> peer = peer_;
    WAGGLE_ASSIGN_OR_RETURN(stream_, batcher_->Open(open.index(), [peer] {
      peer->Close(absl::AbortedError("a later stream of the same actor has taken over"));
    }));
    LogInfo("computes the actions of actor ", open.index(), ", ", open.worker_id());
    peer_->RequestNext();
    return absl::OkStatus();
  }

  absl::Status Ask(Message<v1::ActRequest> message) {
    if (message.header.has_open()) {
      return absl::InvalidArgumentError("a message after the first one opens a stream");
    }
    const std::shared_ptr<Peer> peer = peer_;
    const auto& lanes = message.header.lanes();
    return batcher_->Ask(*stream_, std::vector<int64_t>(lanes.begin(), lanes.end()), std::move(message.data),
                         [peer](absl::StatusOr<InferenceBatcher::Answer> answer) {
                           if (!answer.ok()) {
                             peer->Close(answer.status());
                             return;
                           }
                           Message<v1::ActResponse> response;
                           response.header.mutable_version()->set_epoch(answer->version.epoch);
                           response.header.mutable_version()->set_version(answer->version.version);
                           response.data = std::move(answer->data);
                           // The next request is read only when this answer was.
                           peer->Send(std::move(response), [peer] { peer->RequestNext(); });
                         });
  }

  const std::shared_ptr<InferenceBatcher> batcher_;  // Null: there is none yet.
  const uint64_t network_hash_;
  std::shared_ptr<Peer> peer_;
  std::optional<uint64_t> stream_;
};

}  // namespace

void InferenceService::SetBatcher(std::shared_ptr<InferenceBatcher> batcher, uint64_t network_hash) {
  {
    MutexLock lock(&mutex_);
    batcher_.swap(batcher);
    network_hash_ = network_hash;
  }
  if (batcher != nullptr) {
    batcher->Stop();
  }
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* InferenceService::Act(
    grpc::CallbackServerContext* context) {
  MutexLock lock(&mutex_);
  return new BidiReactor<v1::ActRequest, v1::ActResponse>(context,
                                                          std::make_unique<ActHandler>(batcher_, network_hash_));
}

}  // namespace waggle
