#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace waggle {

// How a child process ended.
struct ChildExit {
  int code = 0;    // Its exit status; meaningless where a signal ended it.
  int signal = 0;  // The signal that ended it, or 0.
  double peak_rss_mebibytes = 0;

  bool ok() const { return code == 0 && signal == 0; }
  // As a shell counts: the exit status, or 128 + the signal.
  int ShellStatus() const { return signal == 0 ? code : 128 + signal; }
  // "exited with status 1", "was killed by signal 9 (Killed)".
  std::string DebugString() const;
};

struct ChildOptions {
  std::vector<std::string> command;  // The executable's path, then its arguments.
  std::string log_path;              // Where its standard output and error are appended; empty: where this one's go.
  bool in_background = false;        // It gives way to others on the CPU.
  std::vector<int> descriptors;      // Of this process, which the child has as 3, 4 and so on.
  // Set for the child unless the environment has them already.
  std::vector<std::pair<std::string, std::string>> default_environment;
};

// A child process. It dies with this one, however this one ends: the kernel kills it when the thread that spawned it
// ends, so spawn from one that outlives it. It is in a process group of its own, so that a Ctrl-C at the terminal
// reaches this process alone, and it inherits no file but its log and what it is given. Not thread-safe.
class ChildProcess {
 public:
  // NOT_FOUND or another error of the system, naming the executable or the log, where it cannot be started.
  static absl::StatusOr<std::unique_ptr<ChildProcess>> Spawn(const ChildOptions& options);

  // Kills it if it still runs, and waits for it.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }

  // Sends a signal if it still runs.
  void Signal(int signal);

  // How it ended, if it has; never blocks. SIGCHLD announces that it may have.
  const std::optional<ChildExit>& Poll();

 private:
  explicit ChildProcess(pid_t pid) : pid_(pid) {}

  const pid_t pid_;
  std::optional<ChildExit> exit_;
};

}  // namespace waggle
