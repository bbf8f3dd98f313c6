#include "common/hub/ports/hub.h"

#include <iterator>

#include "common/base/log.h"

namespace waggle {

const char* RoleName(Role role) {
  constexpr const char* kNames[] = {"actor", "learner", "replay-server", "param-server", "evaluator", "reducer"};
  const size_t index = static_cast<size_t>(role) - 1;
  return index < std::size(kNames) ? kNames[index] : "unknown";
}

const char* RunStateName(RunState state) {
  constexpr const char* kNames[] = {"no experiment", "running",   "solved", "limit",
                                    "failed",        "finishing", "queued", "stopped"};
  const size_t index = static_cast<size_t>(state) - 1;
  return index < std::size(kNames) ? kNames[index] : "unknown";
}

std::vector<std::string> ReplayServersOf(const Assignment& assignment, int64_t servers) {
  std::vector<std::string> addresses = assignment.replay_servers;
  addresses.resize(static_cast<size_t>(servers));
  return addresses;
}

absl::Status WorkResult(const absl::Status& status, HubLink* hub) {
  const bool stopped = absl::IsCancelled(status) && hub->training_over().StopRequested();
  if (!status.ok() && !stopped) {
    hub->ReportFailure(status);
    return status;
  }
  // Distinguishes a refusal from the end of the run.
  const absl::Status refusal = hub->WaitUntil([](const Assignment&) { return true; }, StopToken()).status();
  if (const RunState state = hub->assignment().run_state;
      IsOver(state) && (refusal.ok() || absl::IsCancelled(refusal))) {
    LogInfo("the run is over: ", RunStateName(state));
  }
  return absl::IsCancelled(refusal) ? absl::OkStatus() : refusal;
}

}  // namespace waggle
