#include "common/api/pool.h"

#include "absl/strings/str_cat.h"

namespace waggle {

const char* WorkerKindName(WorkerKind kind) {
  switch (kind) {
    case WorkerKind::kActor:
      return "actor";
    case WorkerKind::kLearner:
      return "learner";
    case WorkerKind::kReplayServer:
      return "replay-server";
    case WorkerKind::kEvaluator:
      return "evaluator";
    case WorkerKind::kGradient:
      return "gradient-worker";
  }
  return "unknown";
}

bool CanWorkAs(WorkerKind kind, Role role) {
  switch (kind) {
    case WorkerKind::kActor:
      return role == Role::kActor;
    case WorkerKind::kLearner:
      return role == Role::kLearner;
    case WorkerKind::kReplayServer:
      return role == Role::kReplayServer;
    case WorkerKind::kEvaluator:
      return role == Role::kEvaluator;
    case WorkerKind::kGradient:
      return role == Role::kLearner || role == Role::kReducer;
  }
  return false;
}

std::string RunWorkerId(const std::string& worker_id, uint64_t order_number) {
  return absl::StrCat(worker_id, "-", order_number);
}

}  // namespace waggle
