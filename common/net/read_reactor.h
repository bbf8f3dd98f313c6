#pragma once

#include <google/protobuf/message_lite.h>
#include <grpcpp/grpcpp.h>

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/guard.h"
#include "common/net/raw_codec.h"
#include "common/net/status_convert.h"

namespace waggle {

// The logic of a client-streaming method, without gRPC. Calls come one at a time and must not block. The destructor is
// the end of the stream.
template <class Request, class Response>
class ReadHandler {
 public:
  virtual ~ReadHandler() = default;

  // An error ends the stream with it.
  virtual absl::Status OnMessage(Message<Request> message) = 0;
  // Returns the answer after the peer's last message. Not called if the stream breaks.
  virtual absl::StatusOr<Response> OnPeerDone() = 0;
};

// Adapts a ReadHandler to gRPC's callback API. The method returns `new ReadReactor<Request, Response>(context, handler,
// response)`, which deletes itself and the handler in OnDone.
template <class Request, class Response>
class ReadReactor final : public grpc::ServerReadReactor<grpc::ByteBuffer> {
 public:
  using Handler = ReadHandler<Request, Response>;

  ReadReactor(const grpc::CallbackServerContext* context, std::unique_ptr<Handler> handler, grpc::ByteBuffer* response)
      : context_(context), handler_(std::move(handler)), response_(response) {
    StartRead(&incoming_);
  }

  void OnReadDone(bool ok) override {
    absl::Status status;
    const absl::Status failed = Guarded([this, ok, &status] { status = ok ? Take() : End(); });
    if (!failed.ok()) {
      status = failed;
    }
    if (ok && status.ok()) {
      StartRead(&incoming_);
    } else {
      Finish(ToGrpcStatus(status));
    }
  }

  void OnDone() override { delete this; }

 private:
  absl::Status Take() {
    Message<Request> message;
    absl::Status status = DecodeMessage(incoming_, kMaxHeaderBytes, &message.header, &message.data);
    incoming_.Clear();
    return status.ok() ? handler_->OnMessage(std::move(message)) : status;
  }

  absl::Status End() {
    // A cancelled stream ends its reads alike. The last messages may be missing.
    if (context_->IsCancelled()) {
      return absl::CancelledError("the stream broke off");
    }
    absl::StatusOr<Response> response = handler_->OnPeerDone();
    if (response.ok()) {
      *response_ = EncodeMessage(*response, ByteSlices());
    }
    return response.status();
  }

  const grpc::CallbackServerContext* const context_;
  const std::unique_ptr<Handler> handler_;
  grpc::ByteBuffer* const response_;
  grpc::ByteBuffer incoming_;
};

}  // namespace waggle
