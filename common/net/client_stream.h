#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/support/byte_buffer.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "common/net/raw_codec.h"
#include "common/net/stream_core.h"
#include "common/net/stream_handler.h"

namespace waggle {

// The client's side of a stream: a StreamHandler that also learns how the stream ended.
template <class Incoming, class Outgoing>
class ClientStreamHandler : public StreamHandler<Incoming, Outgoing> {
 public:
  // The last call, exactly once, with or without OnPeerDone before.
  virtual void OnClosed(absl::Status status) = 0;
};

using RawClientStreamHandler = ClientStreamHandler<grpc::ByteBuffer, grpc::ByteBuffer>;

// Calls the bidirectional method `method` ("/waggle.v1.ReplayService/Insert"), and returns at once. A stream that
// cannot be opened ends with OnClosed. `handler` lives until OnClosed has returned. Its calls come from gRPC's threads
// and must not block.
//
// The peer's Close(OK) ends the client's half after the queued messages. Any other status cancels the stream at once.
// Only reads and writes notice the end of a stream, so a handler must keep asking for messages.
void OpenRawClientStream(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                         std::unique_ptr<RawClientStreamHandler> handler);

// A message that cannot be decoded cancels the stream, and OnClosed has the reason.
template <class Request, class Response>
void OpenClientStream(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                      std::unique_ptr<ClientStreamHandler<Message<Response>, Message<Request>>> handler) {
  class Decoder final : public RawClientStreamHandler {
   public:
    using Handler = ClientStreamHandler<Message<Response>, Message<Request>>;

    explicit Decoder(std::unique_ptr<Handler> handler) : handler_(std::move(handler)) {}

    void OnOpen(std::shared_ptr<RawStreamPeer> peer) override {
      peer_ = peer;
      handler_->OnOpen(std::make_shared<EncodingPeer<Request>>(std::move(peer)));
    }
    void OnMessage(grpc::ByteBuffer buffer) override {
      Message<Response> message;
      absl::Status status = DecodeMessage(buffer, kMaxHeaderBytes, &message.header, &message.data);
      if (status.ok()) {
        handler_->OnMessage(std::move(message));
      } else {
        peer_->Close(std::move(status));
      }
    }
    void OnPeerDone() override { handler_->OnPeerDone(); }
    void OnClosed(absl::Status status) override { handler_->OnClosed(std::move(status)); }

   private:
    const std::unique_ptr<Handler> handler_;
    std::shared_ptr<RawStreamPeer> peer_;
  };
  OpenRawClientStream(channel, method, std::make_unique<Decoder>(std::move(handler)));
}

}  // namespace waggle
