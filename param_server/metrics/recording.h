#pragma once

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "common/base/stop_token.h"
#include "common/base/thread.h"
#include "param_server/metrics/metrics_recorder.h"
#include "param_server/workers/hub.h"

namespace waggle {

// Has a hub's figures recorded while it exists, by a thread of its own, and tells the hub whether that works.
class Recording {
 public:
  // The hub outlives it.
  Recording(Hub* hub, std::unique_ptr<MetricsRecorder> recorder, absl::Duration period);
  // Records for a last time.
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

 private:
  void RecordOnce(bool last);

  Hub* const hub_;
  const StopToken stop_;
  // Of the thread.
  const std::unique_ptr<MetricsRecorder> recorder_;
  std::string problem_;  // Empty while figures are recorded.
  Thread thread_;        // Last: it uses everything above.
};

}  // namespace waggle
