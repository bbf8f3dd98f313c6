#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/stop_token.h"
#include "common/rpc/channel.h"
#include "common/rpc/status_convert.h"

namespace waggle {

// Makes the unary call in `call`, which is handed the context to use, and waits for its answer:
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

}  // namespace waggle
