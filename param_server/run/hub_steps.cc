// Hub's part in handing out environment steps; the rest of the class is in hub.cc.

#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/status_macros.h"
#include "param_server/run/counter_limit.h"
#include "param_server/run/hub.h"

namespace waggle {
namespace {

absl::Status Validate(const StepRequest& request) {
  const auto is_count = [](int64_t number, int64_t least) {
    return number >= least && static_cast<double>(number) <= kMaxCounter;
  };
  if (!is_count(request.used, 0) || !is_count(request.allowed, 0) || !is_count(request.block, 1) ||
      !std::isfinite(request.rate) || request.rate < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "steps asked for with used: ", request.used, ", allowed: ", request.allowed, ", block: ", request.block,
        ", rate: ", request.rate, "; wanted a block of at least 1, none negative and counts of at most 2^53"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<int64_t> Hub::TakeSteps(const std::string& worker_id, const StepRequest& request) {
  WAGGLE_RETURN_IF_ERROR(Validate(request));
  const absl::Time now = options_.clock();
  int64_t allowed = 0;
  bool save = false;
  {
    MutexLock lock(&mutex_);
    WAGGLE_RETURN_IF_ERROR(workers_.CheckSeated(worker_id));
    if (const Role role = workers_.Find(worker_id)->introduction.role; role != Role::kActor) {
      return absl::InvalidArgumentError(
          absl::StrCat("only actors take environment steps; this is the ", RoleName(role), " ", worker_id));
    }
    if (!step_leases_.has_value()) {
      return absl::FailedPreconditionError("the run has no stop.max_env_steps, so that its actors need not ask");
    }
    const RunState before = tracker_->state();
    const bool had_step = tracker_->progress().running.has_value();
    tracker_->ReportEnvSteps(worker_id, static_cast<double>(request.used), now);
    tracker_->Advance(now);
    NoteEndLocked(before);
    unsaved_ = true;
    urgent_ = urgent_ || tracker_->progress().running.has_value() != had_step;
    allowed = step_leases_->Take(worker_id, request, static_cast<int64_t>(tracker_->env_steps()),
                                 workers_.CountAlive(Role::kActor), now);
    save = TakeSaveDueLocked(now);
  }
  if (save) {
    SaveSoon();
  }
  return allowed;
}

}  // namespace waggle
