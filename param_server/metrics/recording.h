#pragma once

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "common/base/stop_token.h"
#include "common/base/thread.h"
#include "param_server/metrics/metrics_recorder.h"
#include "param_server/run/hub.h"

namespace waggle {

// Has a hub's figures recorded while it exists, by a thread of its own, and tells the hub whether that works: time and
// again, or, of a run in lock-step, whenever it is the hub's turn.
class Recording {
 public:
  // The hub outlives it.
  Recording(Hub* hub, std::unique_ptr<MetricsRecorder> recorder, absl::Duration period);
  // Records for a last time; in lock-step only the evaluations that are new, as figures would be of any moment.
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

 private:
  void Run(absl::Duration period);
  // Until a stop.
  void RunInTurns();
  void RecordOnce(const MetricsRecorder::Call& call);

  Hub* const hub_;
  const StopToken stop_;
  // Of the thread.
  const std::unique_ptr<MetricsRecorder> recorder_;
  std::string problem_;  // Empty while figures are recorded.
  Thread thread_;        // Last: it uses everything above.
};

}  // namespace waggle
