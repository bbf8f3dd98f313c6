#include "param_server/workers/experiment_tracker.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace waggle {
namespace {

double ValueOf(const std::map<std::string, double>& counters, const char* name) {
  const auto it = counters.find(name);
  return it == counters.end() ? 0 : it->second;
}

}  // namespace

void ExperimentTracker::Restore(RunState state, const std::string& reason, std::optional<absl::Time> first_step) {
  state_ = state;
  reason_ = reason;
  first_step_ = first_step;
}

void ExperimentTracker::ReportCounters(const std::string& worker_id, Role role,
                                       const std::map<std::string, double>& counters, absl::Time now) {
  if (role == Role::kLearner) {
    learner_steps_ = std::max(learner_steps_, ValueOf(counters, "learner_steps"));
  } else if (role == Role::kActor) {
    const double steps = ValueOf(counters, "env_steps");
    double& before = env_steps_of_[worker_id];
    // Heartbeats may overtake each other: an older, smaller figure changes nothing.
    env_steps_ += std::max(0.0, steps - before);
    before = std::max(before, steps);
    if (steps > 0 && !first_step_.has_value()) {
      first_step_ = now;
    }
  }
  Advance(now);
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

void ExperimentTracker::Advance(absl::Time now) {
  const StopOptions& stop = plan_.stop;
  if (stop.max_env_steps > 0 && env_steps() >= static_cast<uint64_t>(stop.max_env_steps)) {
    End(RunState::kLimit, absl::StrCat(env_steps(), " environment steps; stop.max_env_steps is ", stop.max_env_steps));
  }
  if (stop.max_learner_steps > 0 && learner_steps() >= static_cast<uint64_t>(stop.max_learner_steps)) {
    End(RunState::kLimit,
        absl::StrCat(learner_steps(), " learner steps; stop.max_learner_steps is ", stop.max_learner_steps));
  }
  if (stop.max_seconds > 0 && first_step_.has_value() && now - *first_step_ >= absl::Seconds(stop.max_seconds)) {
    End(RunState::kLimit,
        absl::StrCat(absl::ToInt64Seconds(now - *first_step_),
                     " seconds since the first environment step; stop.max_seconds is ", stop.max_seconds));
  }
}

void ExperimentTracker::End(RunState state, std::string reason) {
  if (state_ == RunState::kRunning) {
    state_ = state;
    reason_ = std::move(reason);
  }
}

}  // namespace waggle
