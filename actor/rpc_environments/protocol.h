#pragma once

#include <cstdint>

#include "dm_env_rpc/v1/dm_env_rpc.pb.h"

namespace waggle {

// The messages of dm_env_rpc.
namespace dm = ::dm_env_rpc::v1;

// Its one method.
inline constexpr char kProcessMethod[] = "/dm_env_rpc.v1.Environment/Process";

// Waggle's client takes no more bytes of an answer to anything but a step: specs, mostly.
inline constexpr int64_t kMaxSetUpBytes = int64_t{1} << 20;

// Observations that mean something to the protocol, or to Waggle's server of several lanes a stream.
inline constexpr char kDiscountName[] = "discount";
inline constexpr char kStepTypeName[] = "step_type";
// The setting, of a world or of joining it, by which that server is asked for so many lanes.
inline constexpr char kLanesSetting[] = "lanes";
inline constexpr char kSeedSetting[] = "seed";

}  // namespace waggle
