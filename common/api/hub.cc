#include "common/api/hub.h"

#include "common/base/log.h"

namespace waggle {

const char* RoleName(Role role) {
  switch (role) {
    case Role::kActor:
      return "actor";
    case Role::kLearner:
      return "learner";
    case Role::kReplayServer:
      return "replay-server";
    case Role::kParamServer:
      return "param-server";
    case Role::kEvaluator:
      return "evaluator";
    case Role::kReducer:
      return "reducer";
  }
  return "unknown";
}

const char* RunStateName(RunState state) {
  switch (state) {
    case RunState::kNoExperiment:
      return "no experiment";
    case RunState::kRunning:
      return "running";
    case RunState::kFinishing:
      return "finishing";
    case RunState::kSolved:
      return "solved";
    case RunState::kLimit:
      return "limit";
    case RunState::kFailed:
      return "failed";
    case RunState::kQueued:
      return "queued";
    case RunState::kStopped:
      return "stopped";
  }
  return "unknown";
}

std::vector<std::string> ReplayServersOf(const Assignment& assignment, int64_t servers) {
  std::vector<std::string> addresses = assignment.replay_servers;
  addresses.resize(static_cast<size_t>(servers));
  return addresses;
}

absl::Status EndOfWork(const absl::Status& status, HubLink* hub) {
  const bool stopped = absl::IsCancelled(status) && hub->training_over().StopRequested();
  if (!status.ok() && !stopped) {
    hub->ReportFailure(status);
    return status;
  }
  // Only this tells a refusal from the end of the run.
  const absl::Status refusal = hub->WaitUntil([](const Assignment&) { return true; }, StopToken()).status();
  if (const RunState state = hub->assignment().run_state;
      IsOver(state) && (refusal.ok() || absl::IsCancelled(refusal))) {
    LogInfo("the run is over: ", RunStateName(state));
  }
  return absl::IsCancelled(refusal) ? absl::OkStatus() : refusal;
}

}  // namespace waggle
