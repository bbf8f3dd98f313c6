#pragma once

#include <iosfwd>

#include "absl/status/status.h"
#include "cli/command_line.h"
#include "common/base/stop_token.h"

namespace waggle {

// Serves a built-in environment by dm_env_rpc until a stop, and says where on `out`, in one line. INVALID_ARGUMENT for
// an environment or options that there are not; else the errors of RpcServer::Start.
absl::Status ServeEnvironment(const ServeEnvironmentFlags& flags, const StopToken& stop, std::ostream* out);

}  // namespace waggle
