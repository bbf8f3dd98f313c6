#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/api/hub.h"
#include "common/api/pool.h"
#include "common/process/child_process.h"

namespace waggle {

// Stopped: by a user, at the hub. Interrupted: by one who wants `waggle run` to end.
enum class Outcome { kSolved, kLimit, kFailed, kStopped, kInterrupted };

// "solved", "limit", "failed", "stopped", "interrupted".
const char* OutcomeName(Outcome outcome);

// The rules by which `waggle run` starts, restarts and stops its processes: events and times in, actions out. No
// processes, clocks or threads. In order:
//
//   1. The hub is started; once it has the experiment, all others.
//   2. A process but the hub that ends is started again, with a growing delay and a bounded number of times. If the hub
//      ends the run has failed; so it has if none is left of a kind that the run needs, if one is given up before the
//      first environment step, for which all are waited for, or a gradient worker, of which none can be spared.
//   3. The hub's word decides how the run ends. Workers are through with it when the hub has closed it; then, or when
//      that takes too long, or at once after a failure or an interruption, they are asked to end. Who does not in time
//      is killed.
//   4. Once all workers have ended the hub is asked a last time how the run stands, and the servers are stopped.
class Supervision {
 public:
  struct Process {
    std::string name;                     // "actor-0".
    std::optional<WorkerKind> kind = {};  // None: the hub.
    int64_t index = 0;                    // Among those of its kind.
  };

  struct Rules {
    bool needs_evaluator = false;  // Without evaluations the run could not end as it should.
    // How long after the hub has the experiment the first environment step may come: the hub counts stop.max_seconds
    // from it.
    absl::Duration first_step_patience = absl::InfiniteDuration();
  };

  // How the run stands, as the hub says.
  struct Observation {
    RunState state = RunState::kQueued;
    std::string reason;
    bool closed = false;  // It is over, and its workers are through with it.
  };

  // What is to be done now.
  struct Actions {
    std::vector<size_t> start;                    // Indices of processes.
    std::vector<std::pair<size_t, int>> signals;  // A process, and a signal for it.
    std::vector<std::string> messages;            // For the user.
    std::optional<size_t> show_log;               // Whose last lines explain a failure.
    bool observe = false;                         // Ask the hub now how the run stands.
  };

  // `processes` has exactly one hub. All times are of one clock that never goes back or jumps.
  Supervision(std::vector<Process> processes, const Rules& rules, absl::Time now);

  const std::vector<Process>& processes() const { return processes_; }

  // Events.
  Actions Begin(absl::Time now);
  // The hub serves, and has taken the experiment in; or it did not.
  Actions HubReady(absl::Time now);
  Actions Refused(const absl::Status& error, absl::Time now);
  Actions CannotStart(size_t process, const absl::Status& error, absl::Time now);
  // It was to be started, but the outcome was decided before its turn came.
  Actions NotStarted(size_t process, absl::Time now);
  Actions Exited(size_t process, const ChildExit& exit, absl::Time now);
  // An actor has taken an environment step.
  void Stepped() {
    stepped_ = true;
    first_step_by_ = absl::InfiniteFuture();
  }
  // The hub said how the run stands; `asked_at` is when it was asked.
  Actions Observed(const Observation& observation, absl::Time asked_at, absl::Time now);
  // The user wants the end; the second time at once.
  Actions Interrupted(absl::Time now);
  // Call when NextDeadline() has passed.
  Actions Tick(absl::Time now);

  absl::Time NextDeadline() const;

  // Whether every process has ended for good.
  bool done() const { return phase_ == Phase::kDone; }
  // Once the outcome is decided, and why.
  std::optional<Outcome> outcome() const { return outcome_; }
  const std::string& reason() const { return reason_; }
  // How a learner, or what is in its place, ended the last time, if one has, and which one that was.
  const std::optional<ChildExit>& learner_exit() const { return learner_exit_; }
  size_t learner() const { return learner_; }
  // How a learner ended that did not end well, the last such, if there was one.
  const std::optional<ChildExit>& failed_learner_exit() const { return failed_learner_exit_; }
  // How the hub ended, if it has.
  const std::optional<ChildExit>& hub_exit() const { return hub_exit_; }

 private:
  enum class Phase {
    kStarting,  // → kRunning once the hub is ready.
    kRunning,
    kClosing,          // The hub has said that the run is over, and waits for its workers.
    kStoppingWorkers,  // The outcome is decided.
    kLastLook,         // Workers have ended.
    kStoppingReplayServers,
    kStoppingHub,
    kDone,
  };
  // Of the run, in the order in which they end.
  enum class Part { kWorkers, kReplayServers, kHub };
  struct State {
    bool running = false;
    bool clean_exit = false;  // The last time.
    absl::Time started_at;
    int restarts = 0;
    absl::Time restart_at = absl::InfiniteFuture();
    bool given_up = false;
  };

  void Start(size_t process, absl::Time now, Actions* actions);
  void Lost(size_t process, const ChildExit& exit, absl::Time now, Actions* actions);
  void GiveUp(size_t process, absl::Time now, Actions* actions);
  void Fail(const std::string& reason, std::optional<size_t> process, absl::Time now, Actions* actions);
  void Decide(Outcome outcome, const std::string& reason);
  void StopWorkers(absl::Time now, Actions* actions);
  // Moves on where the processes of a phase have ended.
  void Advance(absl::Time now, Actions* actions);
  static Part PartOf(const Process& process);
  // Which one is asked to end, if any is.
  std::optional<Part> StoppedPart() const;
  // Whether a process ended as we asked it to. A signal may be ours; an error of the hub, which keeps weights, is its
  // own.
  bool EndedAsAsked(const Process& process, const ChildExit& exit) const;
  // Whether the processes of a part end because we said so.
  bool WasAskedToEnd(Part part) const;
  // Begins a phase that ends a part.
  void AskToEnd(Phase phase, absl::Time now, Actions* actions);
  void SignalAll(Part part, int signal, Actions* actions);
  bool AnyRunning(Part part) const;
  std::optional<size_t> FirstActor() const;

  const std::vector<Process> processes_;
  const Rules rules_;
  std::vector<State> states_;
  Phase phase_ = Phase::kStarting;
  std::optional<Outcome> outcome_;
  std::string reason_;
  absl::Time last_observed_;
  absl::Time phase_deadline_ = absl::InfiniteFuture();  // When the phase's patience ends.
  absl::Time last_look_at_;
  absl::Time first_step_by_ = absl::InfiniteFuture();
  bool hub_ready_ = false;
  bool stepped_ = false;
  bool interrupted_ = false;
  bool killed_ = false;  // All of them, for the user would not wait.
  std::optional<ChildExit> learner_exit_;
  std::optional<ChildExit> failed_learner_exit_;
  size_t learner_ = 0;
  std::optional<ChildExit> hub_exit_;
};

}  // namespace waggle
