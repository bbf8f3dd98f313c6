#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "actor/environments/vector_environment.h"
#include "common/base/random.h"
#include "common/base/threads/stop_token.h"
#include "common/config/experiment/dm_env_rpc_options.h"

namespace waggle {

// Opens `lanes` lanes of servers' environments; `in_order` is as in LaneOptions. INVALID_ARGUMENT, with the wrong key,
// if settings cannot be sent; otherwise the errors of RpcEnvironments::Create.
absl::StatusOr<std::unique_ptr<VectorEnvironment>> OpenRpcEnvironments(const DmEnvRpcOptions& options, int64_t lanes,
                                                                       bool in_order, Rng rng, const StopToken& stop);

}  // namespace waggle
