#include "param_server/metrics/recording.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/log.h"
#include "common/base/steady_now.h"

namespace waggle {

Recording::Recording(Hub* hub, std::unique_ptr<MetricsRecorder> recorder, absl::Duration period)
    : hub_(hub), recorder_(std::move(recorder)), thread_("recording", [this, period] {
        do {
          RecordOnce(/*last=*/false);
        } while (!stop_.WaitFor(period));
        RecordOnce(/*last=*/true);
      }) {}

Recording::~Recording() {
  stop_.RequestStop();
  thread_.Join();
}

void Recording::RecordOnce(bool last) {
  const absl::Status status = recorder_->Record(hub_->Overview(), SteadyNow(), absl::Now(), last);
  if (status.message() != problem_) {
    problem_ = std::string(status.message());
    hub_->SetFiguresUnrecorded(problem_);
    status.ok() ? LogInfo("figures are recorded again")
                : LogError("figures are not recorded, and up to 16 MiB of them are kept until they can be: ", problem_);
  }
}

}  // namespace waggle
