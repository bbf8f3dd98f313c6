#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace waggle {

// Asks the server at HOST:PORT by gRPC's health protocol (grpc.health.v1) whether it serves `service`, or anything if
// that is empty. Blocks for at most about `timeout`. FAILED_PRECONDITION if it does not serve; NOT_FOUND if it has no
// such service; otherwise the error of the call.
absl::Status AskHealth(const std::string& address, const std::string& service, absl::Duration timeout);

}  // namespace waggle
