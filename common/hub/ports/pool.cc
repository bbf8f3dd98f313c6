#include "common/hub/ports/pool.h"

#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace waggle {

const char* WorkerKindName(WorkerKind kind) {
  constexpr const char* kNames[] = {"actor", "learner", "replay-server", "evaluator", "gradient-worker"};
  const size_t index = static_cast<size_t>(kind) - 1;
  return index < std::size(kNames) ? kNames[index] : "unknown";
}

bool CanWorkAs(WorkerKind kind, Role role) {
  return kind == WorkerKind::kGradient ? role == Role::kLearner || role == Role::kReducer
                                       : absl::string_view(WorkerKindName(kind)) == RoleName(role);
}

std::string RunWorkerId(const std::string& worker_id, uint64_t order_number) {
  return absl::StrCat(worker_id, "-", order_number);
}

}  // namespace waggle
