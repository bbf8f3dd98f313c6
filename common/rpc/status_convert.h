#pragma once

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace waggle {

// The two kinds of status have the same codes and the same meaning.
grpc::Status ToGrpcStatus(const absl::Status& status);

// A stream that its peer dropped ends with UNKNOWN "Stream removed": that becomes UNAVAILABLE, so that callers retry.
absl::Status FromGrpcStatus(const grpc::Status& status);

}  // namespace waggle
