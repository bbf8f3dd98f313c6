#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/api/hub.h"
#include "common/base/stop_token.h"

namespace waggle {

// As hub->WaitUntil, until `stop`. What is not there yet is waited for with a word in the log, and so is what
// follows: `what` is a noun, such as "an experiment".
absl::StatusOr<Assignment> AwaitHub(HubLink* hub, absl::string_view what, const StopToken& stop,
                                    const std::function<bool(const Assignment&)>& condition);

// For so long a process waits for the other replay servers of a run once one has joined the hub: one that is dead may
// not come back for long, while the others serve.
inline constexpr absl::Duration kReplayServersPatience = absl::Seconds(1);

// Waits for the addresses of the run's replay servers, until `stop`. Without those of the ones that are missing when
// the first has been there for `patience`: their places are empty.
absl::StatusOr<std::vector<std::string>> AwaitReplayServers(HubLink* hub, int64_t servers, const StopToken& stop,
                                                            absl::Duration patience = kReplayServersPatience);

}  // namespace waggle
