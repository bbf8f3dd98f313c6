#pragma once

#include <string>

#include "absl/time/time.h"
#include "common/base/threads/executor.h"
#include "common/base/threads/stop_token.h"

namespace waggle {

// Draws the curves of ended runs, one after another, in child processes. Thread-safe.
class CurveDrawer {
 public:
  // The script lies beside the executables' folder. `timeout` limits one drawing.
  explicit CurveDrawer(std::string binary_folder, absl::Duration timeout = absl::Minutes(1));
  // Ends the drawing under way and drops waiting ones.
  ~CurveDrawer() { stop_.RequestStop(); }
  CurveDrawer(const CurveDrawer&) = delete;
  CurveDrawer& operator=(const CurveDrawer&) = delete;

  // Draws curves.png into the run's folder later; see DrawCurves. Returns at once. The outcome is logged. The request
  // is dropped if many wait already.
  void Draw(const std::string& run_folder, const std::string& log);

 private:
  const std::string binary_folder_;
  const absl::Duration timeout_;
  const StopToken stop_;
  Executor executor_;  // Last: its thread uses everything above.
};

}  // namespace waggle
