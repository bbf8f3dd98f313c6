#include "cli/run/supervision.h"

#include <signal.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace waggle {
namespace {

constexpr int kMaxRestarts = 5;
// A process that lived this long has overcome the cause of its last end: its restarts are counted anew.
constexpr absl::Duration kProvenLife = absl::Seconds(60);
constexpr absl::Duration kFirstRestartDelay = absl::Milliseconds(500);
constexpr absl::Duration kHubStartPatience = absl::Seconds(15);
// Longer than a pause of a busy machine, shorter than a user's patience.
constexpr absl::Duration kHubPatience = absl::Seconds(60);
// Longer than its processes take to join the pool. No others will come.
constexpr absl::Duration kQueuePatience = absl::Minutes(3);
// Longer than the hub waits for workers that may have a large checkpoint to write.
constexpr absl::Duration kClosingPatience = absl::Seconds(70);
constexpr absl::Duration kTermPatience = absl::Seconds(10);
constexpr absl::Duration kLastLookPatience = absl::Seconds(2);

bool Learns(const Supervision::Process& process) {
  return process.kind == WorkerKind::kLearner || process.kind == WorkerKind::kGradient;
}

}  // namespace

const char* OutcomeName(Outcome outcome) {
  switch (outcome) {
    case Outcome::kSolved:
      return "solved";
    case Outcome::kLimit:
      return "limit";
    case Outcome::kFailed:
      return "failed";
    case Outcome::kStopped:
      return "stopped";
    case Outcome::kInterrupted:
      return "interrupted";
  }
  return "unknown";
}

Supervision::Supervision(std::vector<Process> processes, const Rules& rules, absl::Time now)
    : processes_(std::move(processes)), rules_(rules), states_(processes_.size()), last_observed_(now) {}

void Supervision::Start(size_t process, absl::Time now, Actions* actions) {
  State& state = states_[process];
  state.running = true;
  state.started_at = now;
  state.restart_at = absl::InfiniteFuture();
  actions->start.push_back(process);
}

Supervision::Actions Supervision::Begin(absl::Time now) {
  Actions actions;
  phase_deadline_ = now + kHubStartPatience;
  for (size_t i = 0; i < processes_.size(); ++i) {
    if (!processes_[i].kind.has_value()) {
      Start(i, now, &actions);
    }
  }
  return actions;
}

Supervision::Actions Supervision::HubReady(absl::Time now) {
  Actions actions;
  if (phase_ != Phase::kStarting) {
    return actions;
  }
  phase_ = Phase::kRunning;
  hub_ready_ = true;
  begin_by_ = now + kQueuePatience;
  first_step_by_ = now + rules_.first_step_patience;
  phase_deadline_ = absl::InfiniteFuture();
  last_observed_ = now;
  for (size_t i = 0; i < processes_.size(); ++i) {
    if (processes_[i].kind.has_value()) {
      Start(i, now, &actions);
    }
  }
  return actions;
}

Supervision::Actions Supervision::Refused(const absl::Status& error, absl::Time now) {
  Actions actions;
  Fail(absl::StrCat("the experiment was not taken in: ", error.message()), std::nullopt, now, &actions);
  return actions;
}

Supervision::Actions Supervision::CannotStart(size_t process, const absl::Status& error, absl::Time now) {
  Actions actions;
  states_[process].running = false;
  Fail(absl::StrCat(processes_[process].name, ": ", error.message()), std::nullopt, now, &actions);
  Advance(now, &actions);
  return actions;
}

Supervision::Actions Supervision::NotStarted(size_t process, absl::Time now) {
  Actions actions;
  states_[process].running = false;
  Advance(now, &actions);
  return actions;
}

Supervision::Actions Supervision::Exited(size_t process, const ChildExit& exit, absl::Time now) {
  Actions actions;
  State& state = states_[process];
  state.running = false;
  state.clean_exit = exit.ok();
  const std::string& name = processes_[process].name;
  if (Learns(processes_[process])) {
    learner_ = process;
    learner_exit_ = exit;
    failed_learner_exit_ = exit.ok() ? failed_learner_exit_ : exit;
  }
  const bool is_hub = !processes_[process].kind.has_value();
  if (is_hub) {
    hub_exit_ = exit;
  }
  if (is_hub && !outcome_.has_value()) {
    Fail(absl::StrCat(name, " ", exit.DebugString()), process, now, &actions);
  } else if (phase_ == Phase::kStarting || phase_ == Phase::kRunning) {
    Lost(process, exit, now, &actions);
  } else if (!EndedAsAsked(processes_[process], exit)) {
    actions.messages.push_back(absl::StrCat(name, " ", exit.DebugString(), " while the run ended"));
  }
  if (phase_ == Phase::kClosing && (is_hub || !AnyRunning(Part::kWorkers))) {
    StopWorkers(now, &actions);  // The hub does not close the run any more.
  }
  Advance(now, &actions);
  return actions;
}

void Supervision::Lost(size_t process, const ChildExit& exit, absl::Time now, Actions* actions) {
  State& state = states_[process];
  const std::string& name = processes_[process].name;
  if (now - state.started_at >= kProvenLife) {
    state.restarts = 0;
  }
  if (state.restarts == kMaxRestarts) {
    actions->messages.push_back(
        absl::StrCat(name, " ", exit.DebugString(), " for the ", kMaxRestarts + 1, "th time; it is not started again"));
    GiveUp(process, now, actions);
    return;
  }
  const absl::Duration delay = kFirstRestartDelay * (int64_t{1} << state.restarts);
  ++state.restarts;
  state.restart_at = now + delay;
  actions->observe = true;  // Lets the loop see the run's end before it restarts a process.
  if (!exit.ok()) {
    actions->messages.push_back(absl::StrCat(name, " ", exit.DebugString(), "; starting it again in ",
                                             absl::FormatDuration(delay), " (", state.restarts, " of ", kMaxRestarts,
                                             ")"));
  }
}

void Supervision::GiveUp(size_t process, absl::Time now, Actions* actions) {
  states_[process].given_up = true;
  const WorkerKind kind = *processes_[process].kind;
  if (kind == WorkerKind::kEvaluator && !rules_.needs_evaluator) {
    return;
  }
  bool any_left = false;
  for (size_t i = 0; i < processes_.size(); ++i) {
    any_left = any_left || (processes_[i].kind == kind && !states_[i].given_up);
  }
  if (!any_left) {
    Fail(absl::StrCat("no ", WorkerKindName(kind), " is left"), process, now, actions);
  } else if (!stepped_) {
    Fail(absl::StrCat(processes_[process].name, " has not come up, and every other process waits for it"), process, now,
         actions);
  } else if (kind == WorkerKind::kGradient) {
    Fail(absl::StrCat(processes_[process].name, " is lost, and the run needs all of its kind"), process, now, actions);
  }
}

void Supervision::Fail(const std::string& reason, std::optional<size_t> process, absl::Time now, Actions* actions) {
  if (outcome_.has_value()) {
    return;
  }
  actions->show_log = process;
  Decide(Outcome::kFailed, reason);
  StopWorkers(now, actions);
}

void Supervision::Decide(Outcome outcome, const std::string& reason) {
  outcome_ = outcome;
  reason_ = reason;
  for (State& state : states_) {
    state.restart_at = absl::InfiniteFuture();
  }
}

void Supervision::StopWorkers(absl::Time now, Actions* actions) {
  phase_ = Phase::kStoppingWorkers;
  phase_deadline_ = now + kTermPatience;
  SignalAll(Part::kWorkers, SIGTERM, actions);
  Advance(now, actions);
}

Supervision::Actions Supervision::Observed(const Observation& observation, absl::Time asked_at, absl::Time now) {
  Actions actions;
  last_observed_ = now;
  waits_ = observation.state != RunState::kQueued ? "" : observation.reason.empty() ? "waits" : observation.reason;
  begin_by_ = observation.state == RunState::kQueued ? begin_by_ : absl::InfiniteFuture();
  if (phase_ == Phase::kLastLook) {
    phase_deadline_ = asked_at >= last_look_at_ ? now : phase_deadline_;
    actions.observe = asked_at < last_look_at_;
  } else if (phase_ == Phase::kRunning && IsOver(observation.state)) {
    Decide(observation.state == RunState::kSolved    ? Outcome::kSolved
           : observation.state == RunState::kLimit   ? Outcome::kLimit
           : observation.state == RunState::kStopped ? Outcome::kStopped
                                                     : Outcome::kFailed,
           observation.reason);
    phase_ = Phase::kClosing;
    phase_deadline_ = now + kClosingPatience;
  }
  if (phase_ == Phase::kClosing && observation.closed) {
    StopWorkers(now, &actions);
  }
  Advance(now, &actions);
  return actions;
}

Supervision::Actions Supervision::Interrupted(absl::Time now) {
  Actions actions;
  if (interrupted_) {
    killed_ = true;
    for (const Part part : {Part::kWorkers, Part::kReplayServers, Part::kHub}) {
      SignalAll(part, SIGKILL, &actions);
    }
    return actions;
  }
  interrupted_ = true;
  if (!outcome_.has_value()) {
    actions.messages.push_back("interrupted: stopping every process; once more to kill them");
    Decide(Outcome::kInterrupted, "interrupted by the user");
    StopWorkers(now, &actions);
  } else if (phase_ == Phase::kClosing) {
    StopWorkers(now, &actions);
  }
  return actions;
}

Supervision::Actions Supervision::Tick(absl::Time now) {
  Actions actions;
  if (phase_ == Phase::kRunning) {
    for (size_t i = 0; i < states_.size(); ++i) {
      if (states_[i].restart_at <= now) {
        if (states_[i].clean_exit) {
          actions.messages.push_back(absl::StrCat(processes_[i].name, " ended before the run; starting it again"));
        }
        Start(i, now, &actions);
      }
    }
    if (now >= last_observed_ + kHubPatience) {
      Fail(absl::StrCat("param-server has not answered for ", absl::FormatDuration(kHubPatience)), std::nullopt, now,
           &actions);
    } else if (now >= begin_by_ || (!waits_.empty() && now >= first_step_by_)) {
      Fail(absl::StrCat("the experiment has not begun: it ", waits_), std::nullopt, now, &actions);
    } else if (now >= first_step_by_) {
      Fail(absl::StrCat("no actor has taken an environment step within ",
                        absl::FormatDuration(rules_.first_step_patience)),
           FirstActor(), now, &actions);
    }
  } else if (phase_ == Phase::kStarting && now >= phase_deadline_) {
    Fail(absl::StrCat("param-server did not say its address within ", absl::FormatDuration(kHubStartPatience)),
         size_t{0}, now, &actions);
  } else if (phase_ == Phase::kClosing && now >= phase_deadline_) {
    actions.messages.push_back("workers have not ended their work yet; asking them to end");
    StopWorkers(now, &actions);
  } else if (StoppedPart().has_value() && now >= phase_deadline_) {
    SignalAll(*StoppedPart(), SIGKILL, &actions);
    for (const auto& [process, signal] : actions.signals) {
      actions.messages.push_back(absl::StrCat(processes_[process].name, " has not ended; killing it"));
    }
    phase_deadline_ = now + kTermPatience;
  }
  Advance(now, &actions);
  return actions;
}

void Supervision::Advance(absl::Time now, Actions* actions) {
  if (phase_ == Phase::kStoppingWorkers && !AnyRunning(Part::kWorkers)) {
    phase_ = Phase::kLastLook;
    last_look_at_ = now;
    phase_deadline_ = hub_ready_ && AnyRunning(Part::kHub) ? now + kLastLookPatience : now;
    actions->observe = true;
  }
  if (phase_ == Phase::kLastLook && now >= phase_deadline_) {
    AskToEnd(Phase::kStoppingReplayServers, now, actions);
  }
  // The hub ends last: the other processes tell it that they leave.
  if (phase_ == Phase::kStoppingReplayServers && !AnyRunning(Part::kReplayServers)) {
    AskToEnd(Phase::kStoppingHub, now, actions);
  }
  if (phase_ == Phase::kStoppingHub && !AnyRunning(Part::kHub)) {
    phase_ = Phase::kDone;
    phase_deadline_ = absl::InfiniteFuture();
  }
}

void Supervision::AskToEnd(Phase phase, absl::Time now, Actions* actions) {
  phase_ = phase;
  phase_deadline_ = now + kTermPatience;
  SignalAll(*StoppedPart(), SIGTERM, actions);
}

std::optional<Supervision::Part> Supervision::StoppedPart() const {
  return phase_ == Phase::kStoppingWorkers         ? std::optional(Part::kWorkers)
         : phase_ == Phase::kStoppingReplayServers ? std::optional(Part::kReplayServers)
         : phase_ == Phase::kStoppingHub           ? std::optional(Part::kHub)
                                                   : std::nullopt;
}

Supervision::Part Supervision::PartOf(const Process& process) {
  return !process.kind.has_value()                   ? Part::kHub
         : process.kind == WorkerKind::kReplayServer ? Part::kReplayServers
                                                     : Part::kWorkers;
}

bool Supervision::EndedAsAsked(const Process& process, const ChildExit& exit) const {
  const bool own_error = !process.kind.has_value() && exit.signal == 0;
  return exit.ok() || (!own_error && WasAskedToEnd(PartOf(process)));
}

bool Supervision::WasAskedToEnd(Part part) const {
  return killed_ || (StoppedPart().has_value() && part <= *StoppedPart());
}

void Supervision::SignalAll(Part part, int signal, Actions* actions) {
  for (size_t i = 0; i < processes_.size(); ++i) {
    if (states_[i].running && PartOf(processes_[i]) == part) {
      actions->signals.emplace_back(i, signal);
    }
  }
}

bool Supervision::AnyRunning(Part part) const {
  for (size_t i = 0; i < processes_.size(); ++i) {
    if (states_[i].running && PartOf(processes_[i]) == part) {
      return true;
    }
  }
  return false;
}

std::optional<size_t> Supervision::FirstActor() const {
  for (size_t i = 0; i < processes_.size(); ++i) {
    if (processes_[i].kind == WorkerKind::kActor) {
      return i;
    }
  }
  return std::nullopt;
}

absl::Time Supervision::NextDeadline() const {
  absl::Time next = phase_deadline_;
  if (phase_ == Phase::kRunning) {
    next = std::min({next, last_observed_ + kHubPatience, begin_by_, first_step_by_});
    for (const State& state : states_) {
      next = std::min(next, state.restart_at);
    }
  }
  return next;
}

}  // namespace waggle
