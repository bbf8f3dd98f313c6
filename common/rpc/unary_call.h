#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/stop_token.h"
#include "common/rpc/channel.h"
#include "common/rpc/status_convert.h"

// The two ways to make a unary call. Neither can be had without a deadline.

namespace waggle {

// Makes the call in `call`, which is handed the context to use, and waits for its answer:
//
//   CallUnary(absl::Seconds(5), stop, [&](grpc::ClientContext* context) {
//     return stub->CreateTable(context, request, &response);
//   });
//
// CANCELLED soon after a stop; DEADLINE_EXCEEDED after `timeout`.
inline absl::Status CallUnary(absl::Duration timeout, const StopToken& stop,
                              const std::function<grpc::Status(grpc::ClientContext*)>& call) {
  // Shared: the callback may still run when the call has returned.
  const auto context = std::make_shared<grpc::ClientContext>();
  SetDeadline(timeout, context.get());
  const StopToken::Callback cancel(stop, [context] { context->TryCancel(); });
  if (stop.StopRequested()) {
    return absl::CancelledError("stopped before the call was made");
  }
  return FromGrpcStatus(call(context.get()));
}

// A unary call under way that nobody waits for. Its copies share the call. Thread-safe.
class UnaryCall {
 public:
  UnaryCall() = default;
  // Ends the call; its callback is called with CANCELLED unless it has been already.
  void Cancel() const {
    if (context_ != nullptr) {
      context_->TryCancel();
    }
  }

 private:
  template <class Request, class Response, class Start>
  friend UnaryCall StartUnary(absl::Duration timeout, Request request, const Start& start,
                              std::function<void(absl::Status, const Response&)> done);
  std::shared_ptr<grpc::ClientContext> context_;
};

// Starts a call: `start(context, &request, &response, finished)` hands these to a method of the stub's async(). `done`
// is called once, from one of gRPC's threads; it must not block.
template <class Request, class Response, class Start>
UnaryCall StartUnary(absl::Duration timeout, Request request, const Start& start,
                     std::function<void(absl::Status, const Response&)> done) {
  struct Exchange {
    Request request;
    Response response;
  };
  UnaryCall call;
  call.context_ = std::make_shared<grpc::ClientContext>();
  SetDeadline(timeout, call.context_.get());
  auto exchange = std::make_shared<Exchange>();
  exchange->request = std::move(request);
  start(call.context_.get(), &exchange->request, &exchange->response,
        [context = call.context_, exchange, done = std::move(done)](const grpc::Status& status) {
          done(FromGrpcStatus(status), exchange->response);
        });
  return call;
}

}  // namespace waggle
