#pragma once

#include "absl/status/status.h"
#include "common/api/replay.h"

namespace waggle {

// INVALID_ARGUMENT, saying which, for options of a writer that can never work, wherever its tables are.
absl::Status ValidateWriterOptions(const ReplayWriterOptions& options);

}  // namespace waggle
