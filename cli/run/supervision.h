#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "cli/run/child_process.h"
#include "common/api/hub.h"

namespace waggle {

enum class Outcome { kSolved, kLimit, kFailed, kInterrupted };

// "solved", "limit", "failed", "interrupted".
const char* OutcomeName(Outcome outcome);

// The rules by which `waggle run` starts, restarts and stops its processes: events and times in, actions out. No
// processes, clocks or threads. In order:
//
//   1. The hub is started; once its address is known, all others.
//   2. An actor, an evaluator or a replay server that ends is started again, with a growing delay and a bounded number
//      of times; so is a learner that a signal ended, as one that crashed. If the hub ends, or the learner by an error
//      of its own, or none of a kind is left, the run has failed; so it has if one of several replay servers is given
//      up before the first environment step.
//   3. When the hub says that the run is over, workers end by themselves; after a failure or an interruption they are
//      asked to. Who does not in time is killed.
//   4. Once all workers have ended the hub is asked a last time how the run stands, and the servers are stopped.
class Supervision {
 public:
  struct Process {
    std::string name;  // "actor-0".
    Role role = Role::kActor;
    int64_t index = 0;  // Among those of its role.
  };

  struct Rules {
    bool needs_evaluator = false;  // Without evaluations the run could not end as it should.
    // How long after the hub is ready the first environment step may come: the hub counts stop.max_seconds from it.
    absl::Duration first_step_patience = absl::InfiniteDuration();
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
  Actions HubReady(absl::Time now);
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
  Actions Observed(RunState state, const std::string& reason, absl::Time asked_at, absl::Time now);
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
  // How the learner ended the last time, if it has.
  const std::optional<ChildExit>& learner_exit() const { return learner_exit_; }
  // How a learner ended that did not end well, the last such, if there was one.
  const std::optional<ChildExit>& failed_learner_exit() const { return failed_learner_exit_; }
  // How the hub ended, if it has.
  const std::optional<ChildExit>& hub_exit() const { return hub_exit_; }

 private:
  enum class Phase {
    kStarting,  // → kRunning once the hub is ready.
    kRunning,
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
  void End(Outcome outcome, const std::string& reason, bool ask_workers, absl::Time now, Actions* actions);
  // Moves on where the processes of a phase have ended.
  void Advance(absl::Time now, Actions* actions);
  static Part PartOf(Role role);
  // Which one is waited for to end, if any is.
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
  absl::Duration JudgementPatience() const;
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
  bool asked_ = false;  // The phase's processes were sent SIGTERM.
  bool interrupted_ = false;
  bool killed_ = false;  // All of them, for the user would not wait.
  std::optional<ChildExit> learner_exit_;
  std::optional<ChildExit> failed_learner_exit_;
  std::optional<ChildExit> hub_exit_;
  // A learner that ended by itself while the run was thought to go on, and when.
  std::optional<size_t> ended_learner_;
  absl::Time learner_ended_at_;
};

}  // namespace waggle
