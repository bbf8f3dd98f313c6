#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/base/process/child_process.h"
#include "tests/support/temporary_folder.h"

namespace waggle::testing {

// Waits until `condition` holds, checking it again and again. Fails the test, naming `what`, after five minutes: far
// longer than anything here takes, so that a busy machine does not fail a test.
void Eventually(const std::string& what, const std::function<bool()>& condition);

// One of Waggle's executables, with its output in a file of `folder`.
class RunningProcess {
 public:
  // `command` is an executable's name and its arguments.
  RunningProcess(const TemporaryFolder& folder, const std::string& log, std::vector<std::string> command);

  void Signal(int signal) { child_->Signal(signal); }
  // Waits for the process to end.
  ChildExit Wait();
  std::string Log() const;
  pid_t pid() const { return child_->pid(); }

 private:
  std::string name_;
  std::string log_path_;
  std::unique_ptr<ChildProcess> child_;
};

// `waggle run` on the shipped CartPole experiment, with its own output folder.
class TrainingRun {
 public:
  // `arguments` follow those of the command line: {"--seed", "2", "--set", "a.b=c"}. Curves are drawn at the end if
  // `plot` is true, which takes a second or two. `config` is a file of the folder configs.
  explicit TrainingRun(std::vector<std::string> arguments = {}, bool plot = false,
                       const std::string& config = "cartpole_apex_dqn");

  RunningProcess* process() { return process_.get(); }
  ChildExit Wait() { return process_->Wait(); }
  std::string File(const std::string& name) const { return folder_.File("out/" + name); }
  nlohmann::json Summary() const;
  // Waits for the run's end. Requires that it succeeded with this outcome, and returns its summary.
  nlohmann::json WaitForSuccess(const std::string& outcome = "limit");

  // The output of `waggle status ID --json`; null while the hub does not answer.
  nlohmann::json Status() const;
  // Waits until actors have taken this many steps.
  void WaitForEnvSteps(double steps) const;
  // The process id of the first living worker of this role ("actor") or name ("actor-0"), or -1.
  pid_t PidOf(const std::string& role) const;
  // The roles of the processes that signal 9 has ended, once the run is over.
  std::set<std::string> KilledRoles() const;
  // Waits for that process, kills it, and returns its id.
  pid_t Kill(const std::string& role) const;
  // The same. Then waits until another process has its place.
  void KillAndAwaitAnother(const std::string& role) const;
  // Waits for that process, and pauses it for five seconds.
  void Pause(const std::string& role) const;
  // All existing processes of the run, found by their command lines.
  std::vector<pid_t> Processes() const;

 private:
  TemporaryFolder folder_;
  std::unique_ptr<RunningProcess> process_;
};

}  // namespace waggle::testing
