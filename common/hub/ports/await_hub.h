#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/threads/stop_token.h"
#include "common/hub/ports/hub.h"

namespace waggle {

// hub->WaitUntil, which logs a wait and its end. `what` is a noun, such as "an experiment".
absl::StatusOr<Assignment> AwaitHub(HubLink* hub, absl::string_view what, const StopToken& stop,
                                    const std::function<bool(const Assignment&)>& condition);

// How long a process waits for other replay servers after the first. A dead one may stay away for long.
inline constexpr absl::Duration kReplayServersPatience = absl::Seconds(1);

// In lock-step all servers are waited for, because their number decides on each draw.
inline absl::Duration ReplayServersPatience(bool in_lock_step) {
  return in_lock_step ? absl::InfiniteDuration() : kReplayServersPatience;
}

// Returns the addresses of the run's replay servers; empty for those missing `patience` after the first has joined.
absl::StatusOr<std::vector<std::string>> AwaitReplayServers(HubLink* hub, int64_t servers, const StopToken& stop,
                                                            absl::Duration patience = kReplayServersPatience);

}  // namespace waggle
