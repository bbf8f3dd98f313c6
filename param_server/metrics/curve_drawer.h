#pragma once

#include <string>

#include "absl/time/time.h"
#include "common/base/executor.h"
#include "common/base/stop_token.h"

namespace waggle {

// Draws the curves of runs that have ended, one after the other, by processes of their own. Thread-safe.
class CurveDrawer {
 public:
  // The folder of the executables, beside which the script lies. One drawing may take `timeout`.
  explicit CurveDrawer(std::string binary_folder, absl::Duration timeout = absl::Minutes(1));
  // Ends the drawing under way, and leaves out those that wait.
  ~CurveDrawer() { stop_.RequestStop(); }
  CurveDrawer(const CurveDrawer&) = delete;
  CurveDrawer& operator=(const CurveDrawer&) = delete;

  // Has the run's curves.png drawn into its folder; see DrawCurves. Returns at once. What came of it is logged; if many
  // wait already, it is left out.
  void Draw(const std::string& run_folder, const std::string& log);

 private:
  const std::string binary_folder_;
  const absl::Duration timeout_;
  const StopToken stop_;
  Executor executor_;  // Last: its thread uses everything above.
};

}  // namespace waggle
