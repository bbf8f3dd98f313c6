#pragma once

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "common/base/threads/stop_token.h"
#include "common/base/threads/thread.h"
#include "param_server/metrics/metrics_recorder.h"
#include "param_server/run/hub.h"

namespace waggle {

// Records a hub's figures in a thread of its own: periodically, or at the hub's turns in lock-step. Tells the hub if
// that fails.
class Recording {
 public:
  // The hub outlives it.
  Recording(Hub* hub, std::unique_ptr<MetricsRecorder> recorder, absl::Duration period);
  // Records a last time; in lock-step only new evaluations, as figures belong to turns.
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

 private:
  void Run(absl::Duration period);
  void RunInTurns();
  absl::Status RecordOnce(const MetricsRecorder::Call& call);

  Hub* const hub_;
  const StopToken stop_;
  // Used by the thread alone.
  const std::unique_ptr<MetricsRecorder> recorder_;
  std::string problem_;  // Empty while figures are recorded.
  Thread thread_;        // Last: it uses everything above.
};

}  // namespace waggle
