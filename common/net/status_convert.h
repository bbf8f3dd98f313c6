#pragma once

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace waggle {

// Keeps code and message. The reason of a refusal (common/base/reason.h) is a google.rpc.ErrorInfo in the details. Cuts
// a too long message. Marks INTERNAL as ours.
grpc::Status ToGrpcStatus(const absl::Status& status);

// The library's errors for a broken connection become UNAVAILABLE, so that callers retry: UNKNOWN "Stream removed", and
// INTERNAL that is not marked as ours. An UNIMPLEMENTED without a message gets one, and failures to connect because of
// certificates get a hint.
absl::Status FromGrpcStatus(const grpc::Status& status);

}  // namespace waggle
