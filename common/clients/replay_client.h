#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/api/replay.h"

namespace waggle {

// The replay ports over gRPC, to the replay server at the one address (HOST:PORT) in `addresses`. INVALID_ARGUMENT for
// an address that is none, and for several: a buffer spread over several servers is not available in this version.
//
// The server need not be there yet: what is made here connects in the background, and again after every loss, with a
// jittered pause of 0.1 to 2 s. A server that came back without its tables gets those again that were created through
// this connection. A table that was not, and that nobody else creates within five seconds, is an error: NOT_FOUND.
//
// What is made here may outlive the connection.
absl::StatusOr<std::unique_ptr<ReplayConnection>> NewGrpcReplayConnection(const std::vector<std::string>& addresses);

}  // namespace waggle
