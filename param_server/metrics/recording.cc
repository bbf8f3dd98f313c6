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
          RecordOnce();
        } while (!stop_.WaitFor(period));
        RecordOnce();
      }) {}

Recording::~Recording() {
  stop_.RequestStop();
  thread_.Join();
}

void Recording::RecordOnce() {
  const absl::Status status = recorder_->Record(hub_->Overview(), SteadyNow(), absl::Now());
  if (status.ok() != works_) {
    works_ = status.ok();
    hub_->SetFiguresUnrecorded(std::string(status.message()));
    works_ ? LogInfo("figures are recorded again")
           : LogError("figures are not recorded, and kept until they can be: ", status.message());
  }
}

}  // namespace waggle
