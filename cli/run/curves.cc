#include "cli/run/curves.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/run/child_process.h"
#include "common/base/deadline.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

constexpr char kScript[] = "/../share/waggle/plot_runs.py";
constexpr char kSystemPython[] = "/usr/bin/python3";
constexpr char kLog[] = "curves";

// The one that the user has chosen, such as that of a virtual environment.
absl::StatusOr<std::string> FindPython() {
  const char* const path = getenv("PATH");
  for (const absl::string_view folder : absl::StrSplit(path == nullptr ? "" : path, ':', absl::SkipEmpty())) {
    std::string python = absl::StrCat(folder, "/python3");
    if (access(python.c_str(), X_OK) == 0) {
      return python;
    }
  }
  if (access(kSystemPython, X_OK) == 0) {
    return kSystemPython;
  }
  return absl::NotFoundError("curves are drawn by python3 with matplotlib; Debian has both in python3-matplotlib");
}

// Another thread may take the signal that a child has ended: then it is seen after so long.
constexpr absl::Duration kLookPeriod = absl::Milliseconds(100);

// Whether it ended by itself.
bool WaitForEnd(ChildProcess* child, int signals, absl::Duration timeout) {
  const Deadline deadline(timeout);
  while (!child->Poll().has_value()) {
    const absl::Duration left = std::min(deadline.Left(), kLookPeriod);
    if (left <= absl::ZeroDuration()) {
      return false;
    }
    pollfd file = {signals, POLLIN, 0};
    poll(&file, 1, static_cast<int>(absl::ToInt64Milliseconds(left)) + 1);
    signalfd_siginfo info = {};
    while (read(signals, &info, sizeof(info)) == sizeof(info)) {
      if (info.ssi_signo != SIGCHLD && info.ssi_signo != SIGWINCH) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> PlotCommand(const std::string& binary_folder,
                                                     const std::vector<std::string>& runs, const std::string& out,
                                                     bool returns_only) {
  WAGGLE_ASSIGN_OR_RETURN(const std::string python, FindPython());
  const std::string script = binary_folder + kScript;
  if (access(script.c_str(), R_OK) != 0) {
    return absl::NotFoundError(absl::StrCat(script, ", which draws curves, is not there"));
  }
  std::vector<std::string> command = {python, script};
  if (returns_only) {
    command.emplace_back("--returns");
  }
  if (!out.empty()) {
    command.push_back(absl::StrCat("--out=", out));
  }
  command.emplace_back("--");
  command.insert(command.end(), runs.begin(), runs.end());
  return command;
}

std::string DrawCurves(const std::string& binary_folder, const OutputFolder& folder, int signals,
                       absl::Duration timeout) {
  constexpr char kNone[] = "no curves were drawn: ";
  absl::StatusOr<std::vector<std::string>> command =
      PlotCommand(binary_folder, {folder.path()}, "", /*returns_only=*/false);
  if (!command.ok()) {
    return absl::StrCat(kNone, command.status().message());
  }
  ChildOptions options;
  options.command = *std::move(command);
  options.log_path = folder.LogFile(kLog);
  const absl::StatusOr<std::unique_ptr<ChildProcess>> child = ChildProcess::Spawn(options);
  if (!child.ok()) {
    return absl::StrCat(kNone, child.status().message());
  }
  if (!WaitForEnd(child->get(), signals, timeout)) {
    return absl::StrCat(kNone, "it took too long or was interrupted; waggle plot ", folder.path(), " draws them");
  }
  const ChildExit exit = *(*child)->Poll();
  if (exit.ok()) {
    return absl::StrCat("its curves are in ", folder.File("curves.png"));
  }
  const std::vector<std::string> last = folder.LastLogLines(kLog, 1);
  return absl::StrCat(kNone, last.empty() ? exit.DebugString() : last[0]);
}

}  // namespace waggle
