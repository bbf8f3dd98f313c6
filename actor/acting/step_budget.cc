#include "actor/acting/step_budget.h"

#include <algorithm>
#include <utility>

#include "common/base/status_macros.h"
#include "common/base/steady_now.h"

namespace waggle {
namespace {

// The age at which a lease is renewed even if little of it is used, well before it expires.
constexpr absl::Duration kRenewAfter = absl::Seconds(2);

}  // namespace

StepBudget::StepBudget(int64_t block, const Backoff& backoff, Ask ask, const StopToken& stop)
    : block_(block),
      backoff_(backoff),
      ask_(std::move(ask)),
      stop_with_owner_(stop, [own = stop_] { own.RequestStop(); }),
      wake_(stop_,
            [this] {
              MutexLock lock(&mutex_);
              changed_.SignalAll();
            }),
      thread_("step-budget", [this] { Run(); }) {}

StepBudget::~StepBudget() {
  stop_.RequestStop();
}

absl::Status StepBudget::Wait() {
  const int64_t used = used_.load(std::memory_order_relaxed);
  MutexLock lock(&mutex_);
  waits_.Begin();
  due_ = true;
  changed_.SignalAll();
  while (final_error_.ok() && !(used < allowed_ && SteadyNow() < good_until_)) {
    changed_.Wait(&mutex_);
  }
  waits_.End();
  return final_error_;
}

StepBudget::Stats StepBudget::stats() const {
  MutexLock lock(&mutex_);
  return {waits_.total(), waits_.waiting()};
}

bool StepBudget::Look(int64_t used, absl::Time now) {
  MutexLock lock(&mutex_);
  const bool half_used = used >= renew_at_;
  if (half_used && !due_) {
    due_ = true;
    changed_.SignalAll();
  }
  look_at_ = half_used ? allowed_ : renew_at_;
  look_by_ = good_until_;
  return used < allowed_ && now < good_until_;
}

void StepBudget::Run() {
  absl::Status asked;
  while (asked.ok() || absl::IsUnavailable(asked)) {
    WaitUntilDue();
    asked = stop_.StopRequested() ? absl::CancelledError("asking for environment steps was stopped") : AskOnce();
    if (asked.ok()) {
      backoff_.Reset();
    } else if (absl::IsUnavailable(asked)) {
      stop_.WaitFor(backoff_.Next());
    }
  }
  MutexLock lock(&mutex_);
  final_error_ = asked;
  changed_.SignalAll();
}

void StepBudget::WaitUntilDue() {
  MutexLock lock(&mutex_);
  while (!due_ && !stop_.StopRequested()) {
    const absl::Duration left = asked_ + kRenewAfter - SteadyNow();
    if (left <= absl::ZeroDuration()) {
      break;
    }
    changed_.WaitFor(&mutex_, left);
  }
}

absl::Status StepBudget::AskOnce() {
  StepRequest request;
  request.used = used_.load(std::memory_order_relaxed);
  request.block = block_;
  {
    MutexLock lock(&mutex_);
    request.allowed = allowed_;
  }
  const absl::Time now = SteadyNow();
  // The first request has a rate of 0, as the time before it is infinite.
  request.rate = static_cast<double>(request.used - asked_used_) /
                 absl::ToDoubleSeconds(std::max(now - asked_, absl::Microseconds(1)));
  WAGGLE_ASSIGN_OR_RETURN(const int64_t allowed, ask_(request, stop_));
  asked_used_ = request.used;
  asked_ = now;
  MutexLock lock(&mutex_);
  allowed_ = allowed;
  renew_at_ = request.used + (allowed - request.used + 1) / 2;
  good_until_ = now + kStepLeaseUse;
  due_ = used_.load(std::memory_order_relaxed) >= renew_at_;
  changed_.SignalAll();
  return allowed > request.used ? absl::OkStatus() : absl::UnavailableError("other actors have all remaining steps");
}

}  // namespace waggle
