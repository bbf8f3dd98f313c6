#include "common/api/await_hub.h"

#include "common/base/log.h"

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

}  // namespace waggle
