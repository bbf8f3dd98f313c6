#include "common/base/process/curves.h"

#include <unistd.h>

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/deadline.h"
#include "common/base/file.h"
#include "common/base/process/child_process.h"
#include "common/base/process/find_program.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

constexpr char kScripts[] = "/../share/waggle/";

absl::StatusOr<std::string> FindPython() {
  absl::StatusOr<std::string> python = FindProgram("python3");
  if (!python.ok()) {
    python = FindProgram("/usr/bin/python3");
  }
  if (!python.ok()) {
    return absl::NotFoundError(
        "python3 is missing, which draws curves and compares runs: apt install python3-matplotlib "
        "libopenblas-openmp-dev brings it with its packages");
  }
  return python;
}

constexpr absl::Duration kLookPeriod = absl::Milliseconds(100);

// Returns true if it ended by itself.
bool WaitForEnd(ChildProcess* child, const std::function<bool(absl::Duration)>& wait, absl::Duration timeout) {
  const Deadline deadline(timeout);
  while (!child->Poll().has_value()) {
    const absl::Duration left = std::min(deadline.Left(), kLookPeriod);
    if (left <= absl::ZeroDuration() || wait(left)) {
      return false;
    }
  }
  return true;
}

// The last line of a log that is not blank, if it is short.
std::string LastLine(const std::string& log) {
  constexpr size_t kMostBytes = 1 << 20;
  const absl::StatusOr<std::string> text = ReadSmallFile(log, kMostBytes);
  const std::vector<std::string> lines =
      absl::StrSplit(text.ok() ? *text : std::string(), '\n', absl::SkipWhitespace());
  return lines.empty() ? "" : lines.back();
}

// Python and the script's path.
absl::StatusOr<std::vector<std::string>> ScriptCommand(const std::string& binary_folder, const char* name,
                                                       const char* purpose) {
  WAGGLE_ASSIGN_OR_RETURN(const std::string python, FindPython());
  const std::string script = absl::StrCat(binary_folder, kScripts, name);
  if (access(script.c_str(), R_OK) != 0) {
    return absl::NotFoundError(absl::StrCat(script, ", which ", purpose, ", is not there"));
  }
  return std::vector<std::string>{python, script};
}

}  // namespace

absl::StatusOr<std::vector<std::string>> PlotCommand(const std::string& binary_folder,
                                                     const std::vector<std::string>& runs, const std::string& out,
                                                     bool returns_only) {
  WAGGLE_ASSIGN_OR_RETURN(std::vector<std::string> command,
                          ScriptCommand(binary_folder, "plot_runs.py", "draws curves"));
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

absl::StatusOr<std::vector<std::string>> CompareCommand(const std::string& binary_folder,
                                                        const std::vector<std::string>& runs, const std::string& by,
                                                        bool json) {
  WAGGLE_ASSIGN_OR_RETURN(std::vector<std::string> command,
                          ScriptCommand(binary_folder, "compare_runs.py", "compares runs"));
  if (json) {
    command.emplace_back("--json");
  }
  command.push_back(absl::StrCat("--by=", by));
  command.emplace_back("--");
  command.insert(command.end(), runs.begin(), runs.end());
  return command;
}

absl::Status DrawCurves(const std::string& binary_folder, const std::string& run_folder, const std::string& log,
                        const std::function<bool(absl::Duration)>& wait, absl::Duration timeout) {
  ChildOptions options;
  WAGGLE_ASSIGN_OR_RETURN(options.command, PlotCommand(binary_folder, {run_folder}, "", /*returns_only=*/false));
  options.log_path = log;
  options.in_background = true;
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<ChildProcess> child, ChildProcess::Spawn(options));
  if (!WaitForEnd(child.get(), wait, timeout)) {
    return absl::CancelledError(
        absl::StrCat("it took too long or was interrupted; waggle plot ", run_folder, " draws them"));
  }
  const ChildExit exit = *child->Poll();
  const std::string last = exit.ok() ? "" : LastLine(log);
  return exit.ok() ? absl::OkStatus() : absl::UnknownError(last.empty() ? exit.DebugString() : last);
}

}  // namespace waggle
