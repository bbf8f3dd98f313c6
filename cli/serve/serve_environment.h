#pragma once

#include <iosfwd>

#include "absl/status/status.h"
#include "cli/command_line.h"
#include "common/base/threads/stop_token.h"

namespace waggle {

// Serves a built-in environment by dm_env_rpc until a stop, and writes its address to `out`, in one line.
// INVALID_ARGUMENT for an unknown environment or option; otherwise the errors of RpcServer::Start.
absl::Status ServeEnvironment(const ServeEnvironmentFlags& flags, const StopToken& stop, std::ostream* out);

}  // namespace waggle
