#pragma once

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace waggle {

// The two kinds of status have the same codes and the same meaning, and the reason of a refusal (common/base/reason.h)
// travels with them, as a google.rpc.ErrorInfo in the details. A message that is too long to be sent is cut. An
// INTERNAL is marked as ours.
grpc::Status ToGrpcStatus(const absl::Status& status);

// What the library makes of a connection that broke becomes UNAVAILABLE, so that callers retry: UNKNOWN "Stream
// removed", and INTERNAL where it is not marked as ours, such as for a stream that was reset. UNIMPLEMENTED is
// told in words where the server sent none.
absl::Status FromGrpcStatus(const grpc::Status& status);

}  // namespace waggle
