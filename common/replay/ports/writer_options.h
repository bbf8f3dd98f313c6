#pragma once

#include "absl/status/status.h"
#include "common/replay/ports/replay.h"

namespace waggle {

// INVALID_ARGUMENT, naming the option, if a writer's options can never work, wherever its tables are.
absl::Status ValidateWriterOptions(const ReplayWriterOptions& options);

}  // namespace waggle
