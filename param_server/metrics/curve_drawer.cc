#include "param_server/metrics/curve_drawer.h"

#include <utility>

#include "common/base/log.h"
#include "common/base/process/curves.h"

namespace waggle {
namespace {

constexpr size_t kMostWaiting = 64;

}  // namespace

CurveDrawer::CurveDrawer(std::string binary_folder, absl::Duration timeout)
    : binary_folder_(std::move(binary_folder)), timeout_(timeout), executor_("curves", 1, kMostWaiting) {}

void CurveDrawer::Draw(const std::string& run_folder, const std::string& log) {
  const absl::Status queued = executor_.SubmitBytes(0, [this, run_folder, log] {
    const auto wait = [this](absl::Duration duration) { return stop_.WaitFor(duration); };
    const absl::Status drawn = stop_.StopRequested() ? absl::CancelledError("this process stops")
                                                     : DrawCurves(binary_folder_, run_folder, log, wait, timeout_);
    if (!drawn.ok()) {
      LogInfo("no curves were drawn of ", run_folder, ": ", drawn.message());
    }
  });
  if (!queued.ok()) {
    LogInfo("no curves were drawn of ", run_folder, ": ", queued.message());
  }
}

}  // namespace waggle
