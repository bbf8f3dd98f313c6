#include "param_server/workers/hub.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/annotate.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

constexpr size_t kMaxEvaluations = 1'000;
// Epochs are counted up by one, so that a larger one can only be wrong; what is left is room to count on.
constexpr uint64_t kMaxEpoch = uint64_t{1} << 62;

absl::Status Validate(const Evaluation& evaluation) {
  if (evaluation.episodes < 1 || !std::isfinite(evaluation.mean_return) || !std::isfinite(evaluation.min_return) ||
      !std::isfinite(evaluation.max_return)) {
    return absl::InvalidArgumentError(
        absl::StrCat("an evaluation of ", evaluation.episodes, " episodes with returns of mean ",
                     evaluation.mean_return, ", minimum ", evaluation.min_return, " and maximum ",
                     evaluation.max_return, "; wanted at least one episode and finite returns"));
  }
  return absl::OkStatus();
}

absl::Duration SteadyElapsed() {
  return absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
}

}  // namespace

absl::Time SteadyNow() {
  static const absl::Time origin = absl::Now() - SteadyElapsed();
  return origin + SteadyElapsed();
}

absl::StatusOr<std::string> AdoptExperiment(const std::string& given_yaml, absl::Time now, HubState* state) {
  const std::string stored = state->record().experiment_yaml;
  if (given_yaml.empty() || given_yaml == stored) {
    return stored;
  }
  if (!stored.empty()) {
    return absl::FailedPreconditionError(
        "the data folder holds another experiment than the one given; leave --experiment out to go on with the stored "
        "one, or give an empty --data-dir to begin the new one");
  }
  WAGGLE_RETURN_IF_ERROR(state->Update([&given_yaml, now](HubRecord* record) {
    record->experiment_yaml = given_yaml;
    record->started = now;
  }));
  return given_yaml;
}

absl::StatusOr<std::unique_ptr<Hub>> Hub::Create(const HubOptions& options, std::optional<RunPlan> plan,
                                                 HubState* state, ModelStore* models) {
  auto hub = std::unique_ptr<Hub>(new Hub(options, std::move(plan), state, models));
  MutexLock lock(&hub->mutex_);
  WAGGLE_RETURN_IF_ERROR(hub->workers_.Join(options.self, /*epoch=*/0, options.clock()).status());
  return hub;
}

Hub::Hub(const HubOptions& options, std::optional<RunPlan> plan, HubState* state, ModelStore* models)
    : options_(options), state_(state), models_(models), started_(state->record().started), workers_(options.workers) {
  if (plan.has_value()) {
    const HubRecord record = state->record();
    tracker_.emplace(*std::move(plan));
    tracker_->Restore(record.outcome, record.outcome_reason, record.first_step);
  }
}

absl::StatusOr<Hub::Seat> Hub::Join(const WorkerIntroduction& introduction) {
  uint64_t epoch = 0;
  if (introduction.role == Role::kLearner) {
    if (introduction.epoch > kMaxEpoch) {
      return absl::InvalidArgumentError(absl::StrCat("epoch ", introduction.epoch, " was given to no learner"));
    }
    if (introduction.epoch == 0) {
      WAGGLE_ASSIGN_OR_RETURN(epoch, state_->TakeEpoch());
    } else {  // It joins again and still publishes under the epoch it was given, perhaps by a hub that lost its folder.
      epoch = introduction.epoch;
      WAGGLE_RETURN_IF_ERROR(
          state_->Update([epoch](HubRecord* record) { record->last_epoch = std::max(record->last_epoch, epoch); }));
    }
  }
  const absl::Time now = options_.clock();
  MutexLock lock(&mutex_);
  Seat seat;
  WAGGLE_ASSIGN_OR_RETURN(seat.index, workers_.Join(introduction, epoch, now));
  seat.epoch = epoch;
  newest_learner_ = std::max(newest_learner_, epoch);
  seat.assignment = AssignmentLocked(*workers_.Find(introduction.worker_id), now);
  LogInfo(RoleName(introduction.role), " ", seat.index, " joined from ", introduction.host, ", process ",
          introduction.process_id, introduction.address.empty() ? "" : ", serving at ", introduction.address);
  return seat;
}

absl::StatusOr<Assignment> Hub::Heartbeat(const WorkerReport& report) {
  const absl::Time now = options_.clock();
  absl::StatusOr<Assignment> assignment;
  bool unsaved = false;
  {
    MutexLock lock(&mutex_);
    const absl::Status status = TakeReportLocked(report, now);
    const WorkerView* const worker = workers_.Find(report.worker_id);
    if (status.ok() && worker != nullptr) {
      assignment = AssignmentLocked(*worker, now);
    } else {
      assignment = status;
    }
    unsaved = std::exchange(unsaved_, false);
  }
  if (unsaved) {
    SaveProgress();
  }
  return assignment;
}

void Hub::Leave(const std::string& worker_id) {
  MutexLock lock(&mutex_);
  if (const WorkerView* const worker = workers_.Find(worker_id); worker != nullptr) {
    LogInfo(RoleName(worker->introduction.role), " ", worker->index, " left");
  }
  workers_.Leave(worker_id, options_.clock());
}

void Hub::SetOwnAddress(const std::string& address) {
  MutexLock lock(&mutex_);
  workers_.SetAddress(options_.self.worker_id, address);
}

HubOverview Hub::Overview() {
  const absl::Time now = options_.clock();
  MutexLock lock(&mutex_);
  HubOverview overview;
  WorkerFigures own;
  if (options_.metrics != nullptr) {
    Metrics::Snapshot snapshot = options_.metrics->TakeSnapshot();
    own = {std::move(snapshot.activity), std::move(snapshot.counters), std::move(snapshot.gauges), SteadyElapsed()};
  }
  if (const absl::Status status = workers_.Heartbeat(options_.self.worker_id, std::move(own), now); !status.ok()) {
    LogWarning("own figures: ", status.message());
  }
  overview.started = started_;
  overview.workers = workers_.Overview(now);
  overview.evaluations.assign(evaluations_.begin(), evaluations_.end());
  overview.environment = environment_;
  if (tracker_.has_value()) {
    overview.run_state = tracker_->state();
    overview.outcome_reason = tracker_->reason();
    overview.experiment_name = tracker_->plan().name;
    overview.experiment_yaml = tracker_->plan().yaml;
    overview.model = tracker_->plan().name;
    overview.env_steps = tracker_->env_steps();
    overview.learner_steps = tracker_->learner_steps();
    if (const std::shared_ptr<const StoredModel> model = models_->Newest(overview.model); model != nullptr) {
      overview.model_version = model->snapshot.version;
      overview.model_bytes = model->snapshot.data.size();
    }
  }
  return overview;
}

absl::Status Hub::TakeReportLocked(const WorkerReport& report, absl::Time now) {
  // Everything is checked before anything is taken, so that a refused report leaves nothing behind.
  if (report.environment.has_value()) {
    WAGGLE_RETURN_IF_ERROR(CheckEnvironmentLocked(*report.environment));
  }
  for (const DatedEvaluation& dated : report.evaluations) {
    WAGGLE_RETURN_IF_ERROR(Validate(dated.evaluation));
  }
  WAGGLE_RETURN_IF_ERROR(workers_.Heartbeat(report.worker_id, report.figures, now));
  const WorkerView& worker = *workers_.Find(report.worker_id);
  const std::string name = absl::StrCat(RoleName(worker.introduction.role), " ", worker.index);
  if (report.environment.has_value() && !environment_.has_value()) {
    environment_ = report.environment;
    LogInfo("environment of the run: ", environment_->DebugString());
  }
  if (!report.failure.empty()) {
    LogError(name, " gives up: ", report.failure);
  }
  const RunState before = tracker_.has_value() ? tracker_->state() : RunState::kNoExperiment;
  const bool had_step = tracker_.has_value() && tracker_->first_step().has_value();
  for (const DatedEvaluation& dated : report.evaluations) {
    absl::Time& last = last_evaluation_of_.emplace(report.worker_id, absl::InfinitePast()).first->second;
    if (dated.finished <= last) {
      continue;  // Sent again, because the answer to it was lost.
    }
    last = dated.finished;
    evaluations_.push_back(dated);
    if (evaluations_.size() > kMaxEvaluations) {
      evaluations_.pop_front();
    }
    if (tracker_.has_value()) {
      tracker_->ReportEvaluation(dated.evaluation);
    }
  }
  if (tracker_.has_value()) {
    tracker_->ReportCounters(report.worker_id, worker.introduction.role, report.figures.counters, now);
    // A learner that was taken over from is expected to give up.
    if (!report.failure.empty() && worker.introduction.role == Role::kLearner && worker.epoch >= newest_learner_) {
      tracker_->ReportLearnerFailure(report.failure);
    }
    if (tracker_->state() != before) {
      LogInfo("the run is over: ", RunStateName(tracker_->state()), ": ", tracker_->reason());
    }
    unsaved_ = unsaved_ || tracker_->state() != before || tracker_->first_step().has_value() != had_step;
  }
  return absl::OkStatus();
}

absl::Status Hub::CheckEnvironmentLocked(const EnvironmentSpec& environment) const {
  WAGGLE_RETURN_IF_ERROR(Annotate(environment.Validate(), "environment"));
  if (environment_.has_value() && !(*environment_ == environment)) {
    return absl::FailedPreconditionError(absl::StrCat("this worker's environment is ", environment.DebugString(),
                                                      "; the run's is ", environment_->DebugString()));
  }
  return absl::OkStatus();
}

Assignment Hub::AssignmentLocked(const WorkerView& worker, absl::Time now) const {
  Assignment assignment;
  assignment.index = worker.index;
  assignment.epoch = worker.epoch;
  assignment.environment = environment_;
  assignment.actors = std::max<int64_t>(1, static_cast<int64_t>(workers_.Alive(Role::kActor, now).size()));
  for (const WorkerView* replay_server : workers_.Alive(Role::kReplayServer, now)) {
    assignment.replay_servers.push_back(replay_server->introduction.address);
  }
  if (tracker_.has_value()) {
    assignment.run_state = tracker_->state();
    assignment.experiment_yaml = tracker_->plan().yaml;
    if (const std::shared_ptr<const StoredModel> model = models_->Newest(tracker_->plan().name); model != nullptr) {
      assignment.model_version = model->snapshot.version;
    }
  }
  return assignment;
}

void Hub::SaveProgress() {
  std::optional<absl::Time> first_step;
  RunState outcome = RunState::kRunning;
  std::string reason;
  {
    MutexLock lock(&mutex_);
    first_step = tracker_->first_step();
    outcome = tracker_->state();
    reason = tracker_->reason();
  }
  const absl::Status status = state_->Update([&](HubRecord* record) {
    record->first_step = first_step;
    if (record->outcome == RunState::kRunning) {  // Two savers may overtake each other; an outcome is final.
      record->outcome = outcome;
      record->outcome_reason = reason;
    }
  });
  if (!status.ok()) {
    LogError("the run's progress is not saved and would be lost with this process: ", status.message());
  }
}

}  // namespace waggle
