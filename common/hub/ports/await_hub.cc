#include "common/hub/ports/await_hub.h"

#include <algorithm>
#include <optional>

#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/base/steady_now.h"

namespace waggle {

absl::StatusOr<Assignment> AwaitHub(HubLink* hub, absl::string_view what, const StopToken& stop,
                                    const std::function<bool(const Assignment&)>& condition) {
  const bool waits = !stop.StopRequested() && !condition(hub->assignment());
  if (waits) {
    LogInfo("waiting for ", what);
  }
  absl::StatusOr<Assignment> assignment = hub->WaitUntil(condition, stop);
  if (waits && assignment.ok()) {
    LogInfo("the wait for ", what, " is over");
  }
  return assignment;
}

absl::StatusOr<std::vector<std::string>> AwaitReplayServers(HubLink* hub, int64_t servers, const StopToken& stop,
                                                            absl::Duration patience) {
  std::optional<absl::Time> first_joined;
  WAGGLE_ASSIGN_OR_RETURN(const Assignment assignment,
                          AwaitHub(hub, "the replay servers", stop, [&](const Assignment& known) {
                            const std::vector<std::string> addresses = ReplayServersOf(known, servers);
                            const int64_t missing = std::count(addresses.begin(), addresses.end(), "");
                            if (missing == servers) {
                              return false;
                            }
                            first_joined = first_joined.value_or(SteadyNow());
                            return missing == 0 || SteadyNow() - *first_joined >= patience;
                          }));
  return ReplayServersOf(assignment, servers);
}

}  // namespace waggle
