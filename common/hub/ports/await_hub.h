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

// hub->WaitUntil, until `stop`. Logs the wait and its end if it has to wait; `what` is a noun, such as "an experiment".
absl::StatusOr<Assignment> AwaitHub(HubLink* hub, absl::string_view what, const StopToken& stop,
                                    const std::function<bool(const Assignment&)>& condition);

// The time that a process waits for the other replay servers of a run once one has joined the hub. A dead one may stay
// away for long while the others serve.
inline constexpr absl::Duration kReplayServersPatience = absl::Seconds(1);

// Waits for the addresses of the run's replay servers, until `stop`. The address of a server is empty if it is still
// missing `patience` after the first has joined.
absl::StatusOr<std::vector<std::string>> AwaitReplayServers(HubLink* hub, int64_t servers, const StopToken& stop,
                                                            absl::Duration patience = kReplayServersPatience);

}  // namespace waggle
