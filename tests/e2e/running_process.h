#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/process/child_process.h"
#include "tests/support/temporary_folder.h"

namespace waggle::testing {

// Waits until `condition` holds, asking again and again; fails the test, naming `what`, after five minutes. That is far
// more than anything here takes: a busy machine must not fail a test.
void Eventually(const std::string& what, const std::function<bool()>& condition);

// One of our executables with its output in a file of `folder`.
class RunningProcess {
 public:
  // `command` is an executable's name and its arguments.
  RunningProcess(const TemporaryFolder& folder, const std::string& log, std::vector<std::string> command);

  void Signal(int signal) { child_->Signal(signal); }
  // Waits for its end.
  ChildExit Wait();
  std::string Log() const;
  pid_t pid() const { return child_->pid(); }

 private:
  std::string name_;
  std::string log_path_;
  std::unique_ptr<ChildProcess> child_;
};

// `waggle run` on the CartPole experiment that ships, with an output folder of its own.
class TrainingRun {
 public:
  // `arguments` follow those of the command line: {"--seed", "2", "--set", "a.b=c"}.
  // Curves are drawn at its end where `plot` asks for them: that takes a second or two. `config`: of the folder
  // configs.
  explicit TrainingRun(std::vector<std::string> arguments = {}, bool plot = false,
                       const std::string& config = "cartpole_apex_dqn");

  RunningProcess* process() { return process_.get(); }
  ChildExit Wait() { return process_->Wait(); }
  std::string File(const std::string& name) const { return folder_.File("out/" + name); }
  nlohmann::json Summary() const;

  // What `waggle status ID --json` says of it; null while nobody answers.
  nlohmann::json Status() const;
  // Waits until actors have taken this many steps.
  void WaitForEnvSteps(double steps) const;
  // The process id of the first living worker of this role ("learner"), or -1.
  pid_t PidOf(const std::string& role) const;
  // Of the processes that a signal 9 has ended, once the run is over.
  std::set<std::string> KilledRoles() const;
  // Kills that process, once there is one, and returns its id.
  pid_t Kill(const std::string& role) const;
  // All processes of the run that exist now, by their command lines.
  std::vector<pid_t> Processes() const;

 private:
  TemporaryFolder folder_;
  std::unique_ptr<RunningProcess> process_;
};

}  // namespace waggle::testing
