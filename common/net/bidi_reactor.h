#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <utility>

#include "common/net/raw_codec.h"
#include "common/net/server_reactor.h"
#include "common/net/stream_handler.h"

namespace waggle {

// Adapts a StreamHandler to a raw bidirectional method of gRPC's callback API. The method returns
// `new BidiReactor<Request, Response>(context, handler)`. The handler is destroyed with the reactor.
template <class Request, class Response>
class BidiReactor final : public ServerReactor<grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>> {
 public:
  using Handler = StreamHandler<Message<Request>, Message<Response>>;
  // A message with more than `max_header_bytes` beside its data ends the stream.
  BidiReactor(grpc::CallbackServerContext* context, std::unique_ptr<Handler> handler, StreamRefused refused = nullptr,
              size_t max_header_bytes = kMaxHeaderBytes)
      : ServerReactor(context, std::move(refused)), max_header_bytes_(max_header_bytes), handler_(std::move(handler)) {
    handler_->OnOpen(std::make_shared<EncodingPeer<Response>>(core()));
    core()->RequestNext();
  }

  void OnReadDone(bool ok) override {
    core()->ReadEnded(ok, [this](grpc::ByteBuffer* buffer) {
      if (buffer == nullptr) {
        handler_->OnPeerDone();
        return;
      }
      Message<Request> message;
      absl::Status status = DecodeMessage(*buffer, max_header_bytes_, &message.header, &message.data);
      buffer->Clear();
      if (status.ok()) {
        handler_->OnMessage(std::move(message));
      } else {
        core()->Close(std::move(status));
      }
    });
  }

 private:
  void Read(grpc::ByteBuffer* message) override { StartRead(message); }

  const size_t max_header_bytes_;
  const std::unique_ptr<Handler> handler_;
};

}  // namespace waggle
