#include "param_server/workers/experiment_tracker.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "param_server/workers/counter_limit.h"

namespace waggle {
namespace {

double ValueOf(const std::map<std::string, double>& counters, const char* name) {
  const auto it = counters.find(name);
  return it == counters.end() ? 0 : it->second;
}

}  // namespace

void ExperimentTracker::ReportCounters(const std::string& worker_id, Role role,
                                       const std::map<std::string, double>& counters, absl::Time now) {
  if (role == Role::kLearner) {
    progress_.learner_steps = std::max(progress_.learner_steps, ValueOf(counters, "learner_steps"));
  } else if (role == Role::kActor) {
    ReportEnvSteps(worker_id, ValueOf(counters, "env_steps"), now);
  }
  Advance(now);
}

void ExperimentTracker::ReportEnvSteps(const std::string& worker_id, double steps, absl::Time now) {
  double& before = progress_.steps_of[worker_id];
  // Reports may overtake each other: an older, smaller figure changes nothing.
  progress_.env_steps = std::min(kMaxCounter, progress_.env_steps + std::max(0.0, steps - before));
  before = std::max(before, steps);
  if (steps > 0 && !progress_.running.has_value()) {
    progress_.running = absl::ZeroDuration();
    counted_ = now;
  }
}

void ExperimentTracker::ReportEvaluation(const Evaluation& evaluation) {
  const StopOptions& stop = plan_.stop;
  if (stop.target_return.has_value() && evaluation.episodes >= plan_.evaluation_episodes &&
      evaluation.mean_return >= *stop.target_return) {
    End(RunState::kSolved, absl::StrCat("the mean return of ", evaluation.episodes, " greedy episodes was ",
                                        evaluation.mean_return, "; the target is ", *stop.target_return));
  }
}

void ExperimentTracker::ReportLearnerFailure(const std::string& reason) {
  End(RunState::kFailed, absl::StrCat("the learner gave up: ", reason));
}

bool ExperimentTracker::Reopen(absl::Time now) {
  if (progress_.state != RunState::kFailed) {
    return false;
  }
  Advance(now);  // The time in which nobody learned must not end the run.
  progress_.state = RunState::kRunning;
  progress_.reason.clear();
  return true;
}

void ExperimentTracker::KeepOnly(const std::function<bool(const std::string& worker_id)>& may_report) {
  for (auto steps = progress_.steps_of.begin(); steps != progress_.steps_of.end();) {
    steps = may_report(steps->first) ? std::next(steps) : progress_.steps_of.erase(steps);
  }
}

void ExperimentTracker::Advance(absl::Time now) {
  if (progress_.running.has_value() && progress_.state == RunState::kRunning) {
    *progress_.running += now - counted_;
  }
  counted_ = now;
  const StopOptions& stop = plan_.stop;
  if (stop.max_env_steps > 0 && env_steps() >= static_cast<uint64_t>(stop.max_env_steps)) {
    End(RunState::kLimit, absl::StrCat(env_steps(), " environment steps; stop.max_env_steps is ", stop.max_env_steps));
  }
  if (stop.max_learner_steps > 0 && learner_steps() >= static_cast<uint64_t>(stop.max_learner_steps)) {
    End(RunState::kLimit,
        absl::StrCat(learner_steps(), " learner steps; stop.max_learner_steps is ", stop.max_learner_steps));
  }
  if (stop.max_seconds > 0 && progress_.running >= absl::Seconds(stop.max_seconds)) {
    End(RunState::kLimit,
        absl::StrCat("the run has gone on for ", absl::ToInt64Seconds(*progress_.running),
                     " seconds since its first environment step; stop.max_seconds is ", stop.max_seconds));
  }
}

void ExperimentTracker::End(RunState state, std::string reason) {
  if (progress_.state == RunState::kRunning) {
    progress_.state = state;
    progress_.reason = std::move(reason);
  }
}

}  // namespace waggle
