#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "actor/vector_environment.h"
#include "common/base/stop_token.h"

namespace waggle {

// How an environment did in a short trial.
struct EnvironmentTrial {
  double reset_seconds = 0;     // Until every lane showed its first row.
  double steps_per_second = 0;  // All lanes together.
};

// Starts every lane and takes so many random actions in each. Errors are those of the environment.
absl::StatusOr<EnvironmentTrial> TryEnvironment(VectorEnvironment* environment, int64_t steps, const StopToken& stop);

}  // namespace waggle
