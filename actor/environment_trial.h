#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "actor/vector_environment.h"
#include "common/base/stop_token.h"

namespace waggle {

// How an environment did in a short trial.
struct EnvironmentTrial {
  double reset_seconds = 0;     // Until every lane showed its first row.
  double steps_per_second = 0;  // All lanes together.
  // The first element of each observation that was outside its box, "observation/arm[2]: got 5; wanted …". Networks
  // take it, but the environment's space is not what it says.
  std::vector<std::string> outside;
};

// Starts every lane and takes so many random actions in each. Errors are those of the environment.
absl::StatusOr<EnvironmentTrial> TryEnvironment(VectorEnvironment* environment, int64_t steps, const StopToken& stop);

}  // namespace waggle
