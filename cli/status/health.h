#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace waggle {

// Asks the server at HOST:PORT by gRPC's health protocol (grpc.health.v1) whether `service` is served, or the server as
// a whole where that is empty. Blocks for at most about `timeout`. FAILED_PRECONDITION where it says that it is not;
// NOT_FOUND where the server has no such service; otherwise the error of asking it.
absl::Status AskHealth(const std::string& address, const std::string& service, absl::Duration timeout);

}  // namespace waggle
