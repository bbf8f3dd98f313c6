#pragma once

#include <string>

#include "absl/status/status.h"

namespace waggle {

enum class ServerKind { kParamServer, kReplayServer };

// Explains the status of a call to the server at HOST:PORT, which was expected to be of kind `wanted`. If the server
// does not know the method: FAILED_PRECONDITION with its actual kind, and with the flag for that kind. Any other status
// is returned unchanged. May ask the server again, and blocks for a few seconds at most.
absl::Status TellOtherKind(const absl::Status& status, const std::string& address, ServerKind wanted);

// The same for a caller that already knows whether the server is of the other kind.
absl::Status OtherKindError(const std::string& address, ServerKind wanted, bool is_other_kind);

// True if a server is a parameter server, by the status of an Overview call for no experiment.
bool AnsweredAsParamServer(const absl::Status& overview);

}  // namespace waggle
