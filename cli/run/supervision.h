#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/process/child_process.h"
#include "common/hub/ports/hub.h"
#include "common/hub/ports/pool.h"

namespace waggle {

// Stopped: by a user, at the hub. Interrupted: by the user of `waggle run`.
enum class Outcome { kSolved, kLimit, kFailed, kStopped, kInterrupted };

// "solved", "limit", "failed", "stopped", "interrupted".
const char* OutcomeName(Outcome outcome);

// The rules by which `waggle run` starts, restarts and stops its processes: events and times in, actions out. No
// processes, clocks or threads. In order:
//
//   1. The hub is started; once it has the experiment, all other processes.
//   2. A worker or replay server that ends is started again, with a growing delay and a bounded number of times. The
//      run fails if the hub ends, or if the last process of a needed kind is given up. It also fails if a process is
//      given up before the first environment step, for which all are needed, or if a gradient worker is given up, as
//      none can be spared.
//   3. The hub decides how the run ends. Workers have finished with the run when the hub has closed it. Then, or when
//      that takes too long, or at once after a failure or an interruption, they are asked to end. A process that does
//      not end in time is killed.
//   4. Once all workers have ended, the hub is asked for a last report, and the servers are stopped.
class Supervision {
 public:
  struct Process {
    std::string name;                     // "actor-0".
    std::optional<WorkerKind> kind = {};  // Empty: the hub.
    int64_t index = 0;                    // Among those of its kind.
  };

  struct Rules {
    bool needs_evaluator = false;  // Without evaluations the run could not end as it should.
    // The longest time from the hub's taking the experiment to the first environment step: the hub counts
    // stop.max_seconds from that step.
    absl::Duration first_step_patience = absl::InfiniteDuration();
  };

  // The state of the run by the hub.
  struct Observation {
    RunState state = RunState::kQueued;
    std::string reason;   // Why it waits, while it is queued, or why it ended.
    bool closed = false;  // The run is over, and its workers have finished with it.
  };

  // The next action.
  struct Actions {
    std::vector<size_t> start;                    // Indices of processes.
    std::vector<std::pair<size_t, int>> signals;  // A process, and the signal for it.
    std::vector<std::string> messages;            // For the user.
    std::optional<size_t> show_log;               // The process whose last lines explain a failure.
    bool observe = false;                         // Ask the hub now for the run's state.
  };

  // `processes` must have exactly one hub. All times must be of one clock that never goes back or jumps.
  Supervision(std::vector<Process> processes, const Rules& rules, absl::Time now);

  const std::vector<Process>& processes() const { return processes_; }

  // Events.
  Actions Begin(absl::Time now);
  // The hub serves and has taken the experiment, or refused it.
  Actions HubReady(absl::Time now);
  Actions Refused(const absl::Status& error, absl::Time now);
  Actions CannotStart(size_t process, const absl::Status& error, absl::Time now);
  // The process was due to start, but the outcome was decided first.
  Actions NotStarted(size_t process, absl::Time now);
  Actions Exited(size_t process, const ChildExit& exit, absl::Time now);
  // An actor has taken an environment step.
  void Stepped() {
    stepped_ = true;
    begin_by_ = absl::InfiniteFuture();
    first_step_by_ = absl::InfiniteFuture();
  }
  // A report of the hub; `asked_at` is the time of the request.
  Actions Observed(const Observation& observation, absl::Time asked_at, absl::Time now);
  // The user wants the run to end; the second time without waiting.
  Actions Interrupted(absl::Time now);
  // Call when NextDeadline() has passed.
  Actions Tick(absl::Time now);

  absl::Time NextDeadline() const;

  // True if every process has ended for good.
  bool done() const { return phase_ == Phase::kDone; }
  // Set once the outcome is decided.
  std::optional<Outcome> outcome() const { return outcome_; }
  const std::string& reason() const { return reason_; }
  // The last end of a learner, or of the process in its place, if one has ended.
  const std::optional<ChildExit>& learner_exit() const { return learner_exit_; }
  size_t learner() const { return learner_; }
  // The last failed end of a learner, if there was one.
  const std::optional<ChildExit>& failed_learner_exit() const { return failed_learner_exit_; }
  // The hub's end, if it has ended.
  const std::optional<ChildExit>& hub_exit() const { return hub_exit_; }

 private:
  enum class Phase {
    kStarting,  // → kRunning once the hub is ready.
    kRunning,
    kClosing,          // The run is over by the hub, which waits for its workers.
    kStoppingWorkers,  // The outcome is decided.
    kLastLook,         // Workers have ended.
    kStoppingReplayServers,
    kStoppingHub,
    kDone,
  };
  // The parts of the run, in the order in which they end.
  enum class Part { kWorkers, kReplayServers, kHub };
  struct State {
    bool running = false;
    bool clean_exit = false;  // At its last end.
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
  // Moves to the next phase if the processes of this one have ended.
  void Advance(absl::Time now, Actions* actions);
  static Part PartOf(const Process& process);
  // The part that is asked to end, if any.
  std::optional<Part> StoppedPart() const;
  // True if a process ended because it was asked to. Ending by a signal counts. An error of the hub does not count: the
  // hub keeps the weights.
  bool EndedAsAsked(const Process& process, const ChildExit& exit) const;
  // True if the processes of a part were asked to end.
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
  absl::Time phase_deadline_ = absl::InfiniteFuture();  // The end of the phase's patience.
  absl::Time last_look_at_;
  absl::Time begin_by_ = absl::InfiniteFuture();  // The end of the patience with the queue.
  std::string waits_;                             // Why the experiment waits, while it is queued.
  absl::Time first_step_by_ = absl::InfiniteFuture();
  bool hub_ready_ = false;
  bool stepped_ = false;
  bool interrupted_ = false;
  bool killed_ = false;  // All processes, because the user interrupted again.
  std::optional<ChildExit> learner_exit_;
  std::optional<ChildExit> failed_learner_exit_;
  size_t learner_ = 0;
  std::optional<ChildExit> hub_exit_;
};

}  // namespace waggle
