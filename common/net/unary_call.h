#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/threads/stop_token.h"
#include "common/net/call_trace.h"
#include "common/net/channel.h"
#include "common/net/status_convert.h"

namespace waggle {

template <class Stub, class Request, class Response>
using StubMethod = grpc::Status (Stub::*)(grpc::ClientContext*, const Request&, Response*);

// Calls a unary method, such as &v1::ReplayService::Stub::CreateTable, and waits for its response. The call has this
// thread's trace. Errors are those of FromGrpcStatus; CANCELLED soon after a stop; DEADLINE_EXCEEDED after `timeout`.
template <class Stub, class Request, class Response>
absl::StatusOr<Response> CallUnary(Stub* stub, StubMethod<Stub, Request, Response> method, const Request& request,
                                   absl::Duration timeout, const StopToken& stop = StopToken()) {
  // Shared: the callback may still run after this call has returned.
  const auto context = std::make_shared<grpc::ClientContext>();
  SetDeadline(timeout, context.get());
  AddTrace(context.get());
  const StopToken::Callback cancel(stop, [context] { context->TryCancel(); });
  if (stop.StopRequested()) {
    return absl::CancelledError("stopped before the call was made");
  }
  Response response;
  absl::Status status = FromGrpcStatus((stub->*method)(context.get(), request, &response));
  if (!status.ok()) {
    return status;
  }
  return response;
}

}  // namespace waggle
