#include "cli/results/run_program.h"

#include <signal.h>

#include <memory>

#include "absl/time/time.h"
#include "common/base/process/child_process.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

constexpr absl::Duration kLookPeriod = absl::Milliseconds(20);
// A program that is asked to end may finish an episode or a file first.
constexpr absl::Duration kEndPatience = absl::Seconds(10);

}  // namespace

absl::StatusOr<int> RunProgram(const std::vector<std::string>& command, const StopToken& stop, const std::string& log) {
  ChildOptions options;
  options.command = command;
  options.log_path = log;
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<ChildProcess> child, ChildProcess::Spawn(options));
  while (!child->Poll().has_value() && !stop.WaitFor(kLookPeriod)) {
  }
  if (!child->Poll().has_value()) {
    child->Signal(SIGTERM);
    const StopToken pause;
    for (absl::Duration waited; !child->Poll().has_value(); waited += kLookPeriod) {
      if (waited >= kEndPatience) {
        child->Signal(SIGKILL);
      }
      pause.WaitFor(kLookPeriod);
    }
  }
  return child->Poll()->ShellStatus();
}

}  // namespace waggle
