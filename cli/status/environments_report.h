#pragma once

#include <optional>
#include <string>

#include "waggle/v1/worker.pb.h"

namespace waggle {

// The state of environments that run in their own processes, or at servers, for people: "environments: 4 processes,
// 12.3k steps/s, 2 restarts, 1 broken episode", then each actor's last error, with the traceback. Empty if all
// environments run in the actors. `steps_per_s` is absent if it is not known.
std::string EnvironmentsText(const v1::OverviewResponse& overview, std::optional<double> steps_per_s);

}  // namespace waggle
