#include "param_server/run/experiment_tracker.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "param_server/run/counter_limit.h"

namespace waggle {
namespace {

// Time for the last weights of a run to be published and evaluated: an evaluation may take minutes.
constexpr absl::Duration kFinalEvaluationPatience = absl::Minutes(10);
// More evaluators are not expected to confirm weights at the same time.
constexpr size_t kMaxCandidates = 16;

double ValueOf(const std::map<std::string, double>& counters, const char* name) {
  const auto it = counters.find(name);
  return it == counters.end() ? 0 : it->second;
}

}  // namespace

RunProgress Continued(RunProgress progress, const StopOptions& stop) {
  if (!IsOver(progress.state)) {
    return progress;
  }
  progress.state = RunState::kRunning;
  progress.reason.clear();
  const auto falls_short = [&stop](const Evaluation& evaluation) {
    return !stop.target_return.has_value() || evaluation.mean_return < *stop.target_return;
  };
  progress.candidates.erase(std::remove_if(progress.candidates.begin(), progress.candidates.end(), falls_short),
                            progress.candidates.end());
  if (progress.result.has_value() && falls_short(progress.result->evaluation)) {
    progress.result->confirmed = false;
  }
  return progress;
}

void ExperimentTracker::ReportCounters(const std::string& worker_id, Role role,
                                       const std::map<std::string, double>& counters, absl::Time now) {
  if (role == Role::kLearner) {
    progress_.learner_steps = std::max(progress_.learner_steps, ValueOf(counters, "learner_steps"));
    BeginIf(progress_.learner_steps > 0, now);
  } else if (role == Role::kActor) {
    ReportEnvSteps(worker_id, ValueOf(counters, "env_steps"), now);
  }
  Advance(now);
}

void ExperimentTracker::ReportEnvSteps(const std::string& worker_id, double steps, absl::Time now) {
  double& before = progress_.steps_of[worker_id];
  // Reports may overtake each other: a smaller figure is older.
  progress_.env_steps = std::min(kMaxCounter, progress_.env_steps + std::max(0.0, steps - before));
  before = std::max(before, steps);
  BeginIf(steps > 0, now);
}

void ExperimentTracker::BeginIf(bool begun, absl::Time now) {
  if (begun && !progress_.running.has_value()) {
    progress_.running = absl::ZeroDuration();
    counted_ = now;
  }
}

bool ExperimentTracker::ReportEvaluation(const Evaluation& evaluation) {
  const std::optional<double>& target = plan_.stop.target_return;
  if (evaluation.episodes < plan_.evaluation_episodes || IsOver(progress_.state)) {
    return false;
  }
  if (!newest_evaluated_.has_value() || *newest_evaluated_ < evaluation.version) {
    newest_evaluated_ = evaluation.version;
  }
  ReportVersion(evaluation.version);
  const bool reached = target.has_value() && evaluation.mean_return >= *target;
  const Evaluation* const candidate = FindCandidate(evaluation.version);
  const bool solved = reached && candidate != nullptr;
  if (solved) {
    End(RunState::kSolved,
        absl::StrCat("the mean return of ", candidate->episodes, " greedy episodes was ", candidate->mean_return,
                     " and, of ", evaluation.episodes, " with the same weights again, ", evaluation.mean_return,
                     "; the target is ", *target));
  }
  std::optional<RunResult>& result = progress_.result;
  // A later evaluation of the best weights replaces the first, which was selected for its high return.
  const bool best = solved || !result.has_value() || evaluation.version == result->evaluation.version ||
                    evaluation.mean_return > result->evaluation.mean_return;
  if (best) {
    result = RunResult{evaluation, solved};
  }
  std::vector<Evaluation>& candidates = progress_.candidates;
  candidates.erase(std::remove_if(candidates.begin(), candidates.end(),
                                  [&](const Evaluation& other) { return other.version == evaluation.version; }),
                   candidates.end());
  if (reached && !solved) {
    candidates.push_back(evaluation);
    if (candidates.size() > kMaxCandidates) {
      candidates.erase(candidates.begin());
    }
  }
  return best;
}

const Evaluation* ExperimentTracker::FindCandidate(const ModelVersion& version) const {
  for (const Evaluation& candidate : progress_.candidates) {
    if (candidate.version == version) {
      return &candidate;
    }
  }
  return nullptr;
}

void ExperimentTracker::ReportVersion(const ModelVersion& version) {
  progress_.learner_steps =
      std::max(progress_.learner_steps, std::min(kMaxCounter, static_cast<double>(version.version)));
}

void ExperimentTracker::ReportFinalVersion(const ModelVersion& version, absl::Time now) {
  ReportVersion(version);
  Advance(now);
  if (progress_.state == RunState::kFinishing) {
    final_version_ = version;
  }
}

void ExperimentTracker::ReportLearnerFailure(const std::string& reason) {
  const std::string words = absl::StrCat("the learner gave up: ", reason);
  if (progress_.state == RunState::kFinishing) {
    EndUnevaluated(words);
  } else {
    End(RunState::kFailed, words);
  }
}

void ExperimentTracker::EndNow(RunState state, const std::string& reason) {
  if (!IsOver(progress_.state)) {
    progress_.state = state;
    progress_.reason = reason;
  }
}

void ExperimentTracker::Conclude(const std::string& hindrance, absl::Time now) {
  if (progress_.state != RunState::kFinishing) {
    return;
  }
  finishing_since_ = finishing_since_.value_or(now);
  const bool evaluated = final_version_.has_value() && newest_evaluated_.has_value() &&
                         !(*newest_evaluated_ < *final_version_) && FindCandidate(*final_version_) == nullptr;
  if (evaluated) {
    progress_.state = RunState::kLimit;
  } else if (!hindrance.empty()) {
    EndUnevaluated(hindrance);
  } else if (now - *finishing_since_ >= kFinalEvaluationPatience) {
    EndUnevaluated(absl::StrCat("not within ", absl::FormatDuration(kFinalEvaluationPatience)));
  }
}

void ExperimentTracker::EndUnevaluated(const std::string& why) {
  progress_.state = RunState::kLimit;
  absl::StrAppend(&progress_.reason, "; the final weights were not evaluated: ", why);
}

bool ExperimentTracker::Reopen(absl::Time now) {
  if (progress_.state != RunState::kFailed) {
    return false;
  }
  Advance(now);  // The time without a learner must not count.
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
  const bool finishing = progress_.state == RunState::kFinishing && state == RunState::kSolved;
  if (progress_.state == RunState::kRunning || finishing) {
    progress_.state = state == RunState::kLimit && plan_.evaluates ? RunState::kFinishing : state;
    progress_.reason = std::move(reason);
  }
}

Progress ExperimentTracker::RunProgressNow() const {
  const StopOptions& stop = plan_.stop;
  Progress progress;
  progress.env_steps = static_cast<int64_t>(env_steps());
  progress.learner_steps = static_cast<int64_t>(learner_steps());
  const auto share = [&progress](double done, double limit) {
    if (limit > 0) {
      progress.run = std::max(progress.run, std::min(1.0, done / limit));
    }
  };
  share(progress_.env_steps, static_cast<double>(stop.max_env_steps));
  share(progress_.learner_steps, static_cast<double>(stop.max_learner_steps));
  share(absl::ToDoubleSeconds(progress_.running.value_or(absl::ZeroDuration())), stop.max_seconds);
  return progress;
}

}  // namespace waggle
