#pragma once

#include "absl/status/status.h"
#include "common/replay/ports/replay.h"

namespace waggle {

// INVALID_ARGUMENT, naming the option, for options that can never work.
absl::Status ValidateWriterOptions(const ReplayWriterOptions& options);

}  // namespace waggle
