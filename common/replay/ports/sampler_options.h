#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "common/replay/ports/replay.h"

namespace waggle {

// The most open draws of a sampler on one stream, the server's `max_credits`. More are refused for good.
inline constexpr int64_t kMaxOutstandingDraws = 1024;

// INVALID_ARGUMENT, naming the option, for options that can never work.
absl::Status ValidateSamplerOptions(const ReplaySamplerOptions& options);

}  // namespace waggle
