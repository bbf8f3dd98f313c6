#pragma once

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace waggle {

// The two kinds of status have the same codes and the same meaning. The reason of a refusal (common/base/reason.h)
// travels as a google.rpc.ErrorInfo in the details. A message that is too long to be sent is cut. An INTERNAL is marked
// as ours.
grpc::Status ToGrpcStatus(const absl::Status& status);

// The library's errors for a connection that broke become UNAVAILABLE, so that callers retry: UNKNOWN "Stream removed",
// and an INTERNAL that is not marked as ours, for example of a stream that was reset. An UNIMPLEMENTED without a
// message gets one.
absl::Status FromGrpcStatus(const grpc::Status& status);

}  // namespace waggle
