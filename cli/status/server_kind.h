#pragma once

#include <grpcpp/support/status.h>

#include <string>

#include "absl/status/status.h"

namespace waggle {

enum class ServerKind { kParamServer, kReplayServer };

// For the status of a call to the server at HOST:PORT, which was taken for one of this kind: where the server does not
// know the method, FAILED_PRECONDITION with what is there instead, and by which flag it is asked. Any other status as
// it is. Asks the server again then, and blocks for a few seconds at most.
absl::Status TellOtherKind(const absl::Status& status, const std::string& address, ServerKind wanted);

// The same for who has asked already whether the server is of the other kind.
absl::Status OtherKindError(const std::string& address, ServerKind wanted, bool is_other_kind);

// Whether a server that was asked for the Overview of no experiment is a parameter server, by how the call ended.
bool AnsweredAsParamServer(const grpc::Status& overview);

}  // namespace waggle
