#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "actor/environments/vector_environment.h"
#include "common/base/threads/stop_token.h"

namespace waggle {

// The result of a short trial of an environment.
struct EnvironmentTrial {
  double reset_seconds = 0;     // Until every lane showed its first row.
  double steps_per_second = 0;  // All lanes together.
  // The first element of each observation that was outside its box, "observation/arm[2]: got 5; wanted …". Networks
  // accept it, but the environment's space is wrong.
  std::vector<std::string> outside;
};

// Starts every lane and takes `steps` random actions in each. Errors are those of the environment.
absl::StatusOr<EnvironmentTrial> TryEnvironment(VectorEnvironment* environment, int64_t steps, const StopToken& stop);

}  // namespace waggle
