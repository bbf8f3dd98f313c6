#include "param_server/metrics/recording.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/log.h"
#include "common/base/threads/mutex.h"

namespace waggle {

Recording::Recording(Hub* hub, std::unique_ptr<MetricsRecorder> recorder, absl::Duration period)
    : hub_(hub), recorder_(std::move(recorder)), thread_("recording", [this, period] { Run(period); }) {}

Recording::~Recording() {
  stop_.RequestStop();
  thread_.Join();
}

void Recording::Run(absl::Duration period) {
  const bool in_lock_step = hub_->turn().has_value();
  if (in_lock_step) {
    RunInTurns();
  } else {
    do {
      RecordOnce({}).IgnoreError();  // It is logged, and the overview has it.
    } while (!stop_.WaitFor(period));
  }
  RecordOnce({/*last=*/true, in_lock_step}).IgnoreError();
}

void Recording::RunInTurns() {
  struct News {
    Mutex mutex;
    CondVar changed;
    bool any ABSL_GUARDED_BY(mutex) = true;
  };
  const auto news = std::make_shared<News>();
  const auto tell = [news] {
    MutexLock lock(&news->mutex);
    news->any = true;
    news->changed.SignalAll();
  };
  const auto subscription = hub_->Watch(tell);
  const StopToken::Callback wake(stop_, tell);
  while (!stop_.StopRequested()) {
    {
      MutexLock lock(&news->mutex);
      while (!std::exchange(news->any, false)) {
        news->changed.Wait(&news->mutex);
      }
    }
    if (const Turn turn = *hub_->turn(); turn.role == Role::kParamServer) {
      if (turn.cut != 0) {
        // A cut has all evaluations.
        hub_->SaveCut(turn.cut, RecordOnce({/*last=*/true, /*in_lock_step=*/true}));
      } else {
        RecordOnce({/*last=*/false, /*in_lock_step=*/true}).IgnoreError();
      }
      hub_->EndOwnTurn(turn.number);
    }
  }
}

absl::Status Recording::RecordOnce(const MetricsRecorder::Call& call) {
  const absl::Status status = recorder_->Record(hub_->Overview(), absl::Now(), call);
  if (status.message() != problem_) {
    problem_ = std::string(status.message());
    hub_->SetFiguresUnrecorded(problem_);
    status.ok() ? LogInfo("figures are recorded again")
                : LogError("figures are not recorded, and up to 16 MiB of them are kept until they can be: ", problem_);
  }
  return status;
}

}  // namespace waggle
