#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "common/replay/ports/replay.h"

namespace waggle {

// The most draws that a sampler may have asked for, and not got, on one stream: the server's `max_credits`. A sampler
// that asks for more is refused for good.
inline constexpr int64_t kMaxOutstandingDraws = 1024;

// INVALID_ARGUMENT, naming the option, if a sampler's options can never work, wherever its table is.
absl::Status ValidateSamplerOptions(const ReplaySamplerOptions& options);

}  // namespace waggle
