#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace waggle {

// The end of a child process.
struct ChildExit {
  int code = 0;    // Its exit status; meaningless if a signal ended it.
  int signal = 0;  // The signal that ended it, or 0.
  double peak_rss_mebibytes = 0;

  bool ok() const { return code == 0 && signal == 0; }
  // A shell's status: the exit status, or 128 + the signal.
  int ShellStatus() const { return signal == 0 ? code : 128 + signal; }
  // "exited with status 1", "was killed by signal 9 (Killed)".
  std::string DebugString() const;
};

struct ChildOptions {
  std::vector<std::string> command;  // The executable's path, then its arguments.
  std::string log_path;              // Its standard output and error are appended to it; empty: to this process's.
  bool in_background = false;        // It yields the CPU to other processes.
  std::vector<int> descriptors;      // Descriptors of this process, which the child has as 3, 4 and so on.
  // Set for the child unless the environment has them already.
  std::vector<std::pair<std::string, std::string>> default_environment;
};

// A child process. The kernel kills it when the thread that spawned it ends, so spawn it from a thread that outlives
// it. It has its own process group, so that a Ctrl-C at the terminal reaches this process alone. It inherits no files
// but its log and `descriptors`. Not thread-safe.
class ChildProcess {
 public:
  // NOT_FOUND or another error of the system, naming the executable or the log, if it cannot be started.
  static absl::StatusOr<std::unique_ptr<ChildProcess>> Spawn(const ChildOptions& options);

  // Kills it if it still runs, and waits for it.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }

  // Sends a signal if it still runs.
  void Signal(int signal);

  // Its end, if it has ended; never blocks. SIGCHLD announces that it may have.
  const std::optional<ChildExit>& Poll();

 private:
  explicit ChildProcess(pid_t pid) : pid_(pid) {}

  const pid_t pid_;
  std::optional<ChildExit> exit_;
};

}  // namespace waggle
