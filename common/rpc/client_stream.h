#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/support/byte_buffer.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "common/rpc/raw_codec.h"
#include "common/rpc/stream_handler.h"

namespace waggle {

// The client's side of a stream: a StreamHandler that also learns how the stream ended.
template <class Incoming, class Outgoing>
class ClientStreamHandler : public StreamHandler<Incoming, Outgoing> {
 public:
  // The last call: the stream has ended and nothing of it is left. Comes exactly once, OnPeerDone or not.
  virtual void OnClosed(absl::Status status) = 0;
};

using RawClientStreamHandler = ClientStreamHandler<grpc::ByteBuffer, grpc::ByteBuffer>;
using RawStreamPeer = StreamPeer<grpc::ByteBuffer>;

// Calls the bidirectional method `method` ("/waggle.v1.ReplayService/Insert") without waiting for the server: a stream
// that cannot be had ends with OnClosed. `handler` lives until OnClosed has returned; its calls come from gRPC's
// threads and must not block.
//
// Of the peer that OnOpen gets: Close(OK) ends the client's half after what is queued, and the server answers by ending
// its own; any other status cancels the stream at once. The end of a stream is noticed by a read or a write, so a
// handler that wants to know of it keeps asking for messages.
void OpenRawClientStream(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                         std::unique_ptr<RawClientStreamHandler> handler);

// The same with messages: those that cannot be decoded cancel the stream, and OnClosed says why.
template <class Request, class Response>
void OpenClientStream(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                      std::unique_ptr<ClientStreamHandler<Message<Response>, Message<Request>>> handler);

// ---------------------------------------------------------------------------------------------------------------------

namespace internal {

template <class Request>
class EncodingPeer final : public StreamPeer<Message<Request>> {
 public:
  explicit EncodingPeer(std::shared_ptr<RawStreamPeer> raw) : raw_(std::move(raw)) {}

  void Send(Message<Request> message, std::function<void()> sent) override {
    raw_->Send(EncodeMessage(message), std::move(sent));
  }
  void RequestNext() override { raw_->RequestNext(); }
  void Close(absl::Status status) override { raw_->Close(std::move(status)); }

 private:
  const std::shared_ptr<RawStreamPeer> raw_;
};

template <class Request, class Response>
class DecodingHandler final : public RawClientStreamHandler {
 public:
  using Handler = ClientStreamHandler<Message<Response>, Message<Request>>;

  explicit DecodingHandler(std::unique_ptr<Handler> handler) : handler_(std::move(handler)) {}

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

}  // namespace internal

template <class Request, class Response>
void OpenClientStream(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                      std::unique_ptr<ClientStreamHandler<Message<Response>, Message<Request>>> handler) {
  OpenRawClientStream(channel, method,
                      std::make_unique<internal::DecodingHandler<Request, Response>>(std::move(handler)));
}

}  // namespace waggle
