#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "common/api/replay.h"

namespace waggle {

// Draws that a replay server lets a sampler have asked for, and not got, on one stream: its `max_credits`. One that
// asks for more is refused for good.
inline constexpr int64_t kMaxOutstandingDraws = 1024;

// INVALID_ARGUMENT, saying which, for options of a sampler that can never work, wherever its table is.
absl::Status ValidateSamplerOptions(const ReplaySamplerOptions& options);

}  // namespace waggle
