#include "common/api/hub.h"

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
  }
  return "unknown";
}

const char* RunStateName(RunState state) {
  switch (state) {
    case RunState::kNoExperiment:
      return "no experiment";
    case RunState::kRunning:
      return "running";
    case RunState::kSolved:
      return "solved";
    case RunState::kLimit:
      return "limit";
    case RunState::kFailed:
      return "failed";
  }
  return "unknown";
}

}  // namespace waggle
