#include "cli/run/supervision.h"

#include <signal.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace waggle {
namespace {

constexpr int kMaxRestarts = 5;
constexpr int kMaxLearnerRestarts = 3;
// A process that lived this long did not die of what killed it before.
constexpr absl::Duration kProvenLife = absl::Seconds(60);
constexpr absl::Duration kFirstRestartDelay = absl::Milliseconds(500);
constexpr absl::Duration kHubStartPatience = absl::Seconds(15);
// Longer than a pause of a busy machine, shorter than a user's patience.
constexpr absl::Duration kHubPatience = absl::Seconds(60);
// For the hub's word on why the learner failed, which says more than its exit status.
constexpr absl::Duration kJudgementPatience = absl::Seconds(3);
// Workers that end by themselves may have a large checkpoint to write.
constexpr absl::Duration kWorkersEndPatience = absl::Seconds(30);
constexpr absl::Duration kTermPatience = absl::Seconds(10);
constexpr absl::Duration kLastLookPatience = absl::Seconds(2);

int MaxRestarts(Role role) {
  return role == Role::kLearner ? kMaxLearnerRestarts : kMaxRestarts;
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
    if (processes_[i].role == Role::kParamServer) {
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
  first_step_by_ = now + rules_.first_step_patience;
  phase_deadline_ = absl::InfiniteFuture();
  last_observed_ = now;
  for (size_t i = 0; i < processes_.size(); ++i) {
    if (processes_[i].role != Role::kParamServer) {
      Start(i, now, &actions);
    }
  }
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
  const bool is_learner = processes_[process].role == Role::kLearner;
  const bool is_hub = processes_[process].role == Role::kParamServer;
  if (is_learner) {
    learner_exit_ = exit;
    failed_learner_exit_ = exit.ok() ? failed_learner_exit_ : exit;
  }
  if (is_hub) {
    hub_exit_ = exit;
  }
  if (phase_ == Phase::kStarting || phase_ == Phase::kRunning) {
    if (is_hub) {
      Fail(absl::StrCat(name, " ", exit.DebugString()), process, now, &actions);
    } else if (is_learner && exit.signal == 0) {
      // It may have learned earlier than we that the run is over.
      ended_learner_ = process;
      learner_ended_at_ = now;
      actions.observe = true;
    } else {
      Lost(process, exit, now, &actions);
    }
  } else if (!EndedAsAsked(processes_[process], exit)) {
    actions.messages.push_back(absl::StrCat(name, " ", exit.DebugString(), " while the run ended"));
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
  const int max_restarts = MaxRestarts(processes_[process].role);
  if (state.restarts == max_restarts) {
    actions->messages.push_back(
        absl::StrCat(name, " ", exit.DebugString(), " for the ", max_restarts + 1, "th time; it is not started again"));
    GiveUp(process, now, actions);
    return;
  }
  const absl::Duration delay = kFirstRestartDelay * (int64_t{1} << state.restarts);
  ++state.restarts;
  state.restart_at = now + delay;
  actions->observe = true;  // So that nothing is restarted after the run's end.
  if (!exit.ok()) {
    actions->messages.push_back(absl::StrCat(name, " ", exit.DebugString(), "; starting it again in ",
                                             absl::FormatDuration(delay), " (", state.restarts, " of ", max_restarts,
                                             ")"));
  }
}

void Supervision::GiveUp(size_t process, absl::Time now, Actions* actions) {
  states_[process].given_up = true;
  const Role role = processes_[process].role;
  bool any_left = false;
  for (size_t i = 0; i < processes_.size(); ++i) {
    any_left = any_left || (processes_[i].role == role && !states_[i].given_up);
  }
  if (!any_left && (role != Role::kEvaluator || rules_.needs_evaluator)) {
    Fail(absl::StrCat("no ", RoleName(role), " is left"), process, now, actions);
  } else if (role == Role::kReplayServer && !stepped_) {
    // Nobody begins before all replay servers have joined.
    Fail(absl::StrCat(processes_[process].name, " has not come up, and every other process waits for it"), process, now,
         actions);
  }
}

void Supervision::Fail(const std::string& reason, std::optional<size_t> process, absl::Time now, Actions* actions) {
  if (outcome_.has_value()) {
    return;
  }
  actions->show_log = process;
  End(Outcome::kFailed, reason, /*ask_workers=*/true, now, actions);
}

void Supervision::End(Outcome outcome, const std::string& reason, bool ask_workers, absl::Time now, Actions* actions) {
  outcome_ = outcome;
  reason_ = reason;
  phase_ = Phase::kStoppingWorkers;
  phase_deadline_ = now + (ask_workers ? kTermPatience : kWorkersEndPatience);
  asked_ = ask_workers;
  for (State& state : states_) {
    state.restart_at = absl::InfiniteFuture();
  }
  if (ask_workers) {
    SignalAll(Part::kWorkers, SIGTERM, actions);
  }
  Advance(now, actions);
}

Supervision::Actions Supervision::Observed(RunState state, const std::string& reason, absl::Time asked_at,
                                           absl::Time now) {
  Actions actions;
  last_observed_ = now;
  if (phase_ == Phase::kLastLook) {
    phase_deadline_ = asked_at >= last_look_at_ ? now : phase_deadline_;
    actions.observe = asked_at < last_look_at_;
  } else if (phase_ == Phase::kRunning && IsOver(state)) {
    const Outcome outcome = state == RunState::kSolved  ? Outcome::kSolved
                            : state == RunState::kLimit ? Outcome::kLimit
                                                        : Outcome::kFailed;
    End(outcome, reason, /*ask_workers=*/false, now, &actions);
  } else if (phase_ == Phase::kRunning && ended_learner_.has_value()) {
    if (asked_at < learner_ended_at_) {
      actions.observe = true;
    } else {
      Fail(
          absl::StrCat(processes_[*ended_learner_].name, " ", learner_exit_->DebugString(), " before the run was over"),
          ended_learner_, now, &actions);
    }
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
    End(Outcome::kInterrupted, "interrupted by the user", /*ask_workers=*/true, now, &actions);
  } else if (phase_ == Phase::kStoppingWorkers && !asked_) {
    phase_deadline_ = now;
    return Tick(now);
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
    if (ended_learner_.has_value() && now >= learner_ended_at_ + JudgementPatience()) {
      Fail(absl::StrCat(processes_[*ended_learner_].name, " ", learner_exit_->DebugString()), ended_learner_, now,
           &actions);
    } else if (now >= last_observed_ + kHubPatience) {
      Fail(absl::StrCat("param-server has not answered for ", absl::FormatDuration(kHubPatience)), std::nullopt, now,
           &actions);
    } else if (now >= first_step_by_) {
      Fail(absl::StrCat("no actor has taken an environment step within ",
                        absl::FormatDuration(rules_.first_step_patience)),
           FirstActor(), now, &actions);
    }
  } else if (phase_ == Phase::kStarting && now >= phase_deadline_) {
    Fail(absl::StrCat("param-server did not say its address within ", absl::FormatDuration(kHubStartPatience)),
         size_t{0}, now, &actions);
  } else if (StoppedPart().has_value() && now >= phase_deadline_) {
    SignalAll(*StoppedPart(), asked_ ? SIGKILL : SIGTERM, &actions);
    for (const auto& [process, signal] : actions.signals) {
      actions.messages.push_back(
          absl::StrCat(processes_[process].name, " has not ended; ", asked_ ? "killing it" : "asking it to"));
    }
    asked_ = true;
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
  // The hub last: the others say goodbye to it.
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
  asked_ = true;
  SignalAll(*StoppedPart(), SIGTERM, actions);
}

std::optional<Supervision::Part> Supervision::StoppedPart() const {
  return phase_ == Phase::kStoppingWorkers         ? std::optional(Part::kWorkers)
         : phase_ == Phase::kStoppingReplayServers ? std::optional(Part::kReplayServers)
         : phase_ == Phase::kStoppingHub           ? std::optional(Part::kHub)
                                                   : std::nullopt;
}

Supervision::Part Supervision::PartOf(Role role) {
  return role == Role::kParamServer ? Part::kHub : role == Role::kReplayServer ? Part::kReplayServers : Part::kWorkers;
}

bool Supervision::EndedAsAsked(const Process& process, const ChildExit& exit) const {
  const bool own_error = process.role == Role::kParamServer && exit.signal == 0;
  return exit.ok() || (!own_error && WasAskedToEnd(PartOf(process.role)));
}

bool Supervision::WasAskedToEnd(Part part) const {
  return killed_ || (asked_ && part <= StoppedPart().value_or(Part::kWorkers));
}

void Supervision::SignalAll(Part part, int signal, Actions* actions) {
  for (size_t i = 0; i < processes_.size(); ++i) {
    if (states_[i].running && PartOf(processes_[i].role) == part) {
      actions->signals.emplace_back(i, signal);
    }
  }
}

bool Supervision::AnyRunning(Part part) const {
  for (size_t i = 0; i < processes_.size(); ++i) {
    if (states_[i].running && PartOf(processes_[i].role) == part) {
      return true;
    }
  }
  return false;
}

std::optional<size_t> Supervision::FirstActor() const {
  for (size_t i = 0; i < processes_.size(); ++i) {
    if (processes_[i].role == Role::kActor) {
      return i;
    }
  }
  return std::nullopt;
}

absl::Duration Supervision::JudgementPatience() const {
  // One that ended in peace has most likely heard that the run is over; only the hub's word can tell otherwise.
  return learner_exit_->ok() ? kHubPatience : kJudgementPatience;
}

absl::Time Supervision::NextDeadline() const {
  absl::Time next = phase_deadline_;
  if (phase_ == Phase::kRunning) {
    next = std::min({next, last_observed_ + kHubPatience, first_step_by_});
    if (ended_learner_.has_value()) {
      next = std::min(next, learner_ended_at_ + JudgementPatience());
    }
    for (const State& state : states_) {
      next = std::min(next, state.restart_at);
    }
  }
  return next;
}

}  // namespace waggle
