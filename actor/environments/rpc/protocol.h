#pragma once

#include <cstdint>

#include "dm_env_rpc/v1/dm_env_rpc.pb.h"

namespace waggle {

// The messages of dm_env_rpc.
namespace dm = ::dm_env_rpc::v1;

// The service's only method.
inline constexpr char kProcessMethod[] = "/dm_env_rpc.v1.Environment/Process";

// The client's limit on the bytes of an answer, mostly specs. Answers to steps have a limit of their own.
inline constexpr int64_t kMaxSetUpBytes = int64_t{1} << 20;

// Observations with a meaning in the protocol, or in Waggle's server of several lanes a stream.
inline constexpr char kDiscountName[] = "discount";
inline constexpr char kStepTypeName[] = "step_type";
// The setting, of a world or a join, that asks that server for a number of lanes.
inline constexpr char kLanesSetting[] = "lanes";
inline constexpr char kSeedSetting[] = "seed";

}  // namespace waggle
