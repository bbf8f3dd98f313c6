#include "param_server/run/hub.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/base/utf8.h"
#include "common/tensor/checksum.h"
#include "param_server/run/counter_limit.h"

namespace waggle {
namespace {

// One that runs and one that will see what changed meanwhile.
constexpr size_t kMaxSaves = 2;

absl::Status Validate(const Evaluation& evaluation) {
  if (evaluation.episodes < 1 || !std::isfinite(evaluation.mean_return) || !std::isfinite(evaluation.min_return) ||
      !std::isfinite(evaluation.max_return) || !std::isfinite(evaluation.standard_deviation) ||
      !std::isfinite(evaluation.mean_length)) {
    return absl::InvalidArgumentError(
        absl::StrCat("an evaluation of ", evaluation.episodes, " episodes with returns of mean ",
                     evaluation.mean_return, ", minimum ", evaluation.min_return, ", maximum ", evaluation.max_return,
                     " and standard deviation ", evaluation.standard_deviation, ", of mean length ",
                     evaluation.mean_length, "; wanted at least one episode and finite numbers"));
  }
  if (evaluation.env_steps > static_cast<uint64_t>(kMaxCounter)) {
    return absl::InvalidArgumentError(
        absl::StrCat("evaluation.env_steps: got ", evaluation.env_steps, "; wanted at most 2^53"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> AdoptExperiment(const std::string& given_yaml, HubState* state) {
  const std::string stored = state->record().experiment_yaml;
  if (given_yaml.empty() || given_yaml == stored) {
    return stored;
  }
  if (!stored.empty()) {
    return absl::FailedPreconditionError("the folder holds another experiment than the one that is to run in it");
  }
  WAGGLE_RETURN_IF_ERROR(state->Update([&given_yaml](HubRecord* record) { record->experiment_yaml = given_yaml; }));
  return given_yaml;
}

absl::StatusOr<std::unique_ptr<Hub>> Hub::Create(const HubOptions& options, std::optional<RunPlan> plan,
                                                 HubState* state, ModelStore* models) {
  auto hub = std::unique_ptr<Hub>(new Hub(options, std::move(plan), state, models));
  WAGGLE_RETURN_IF_ERROR(hub->RestoreWeights());
  MutexLock lock(&hub->mutex_);
  hub->workers_.Order(options.self, /*index=*/0, options.clock());
  WAGGLE_RETURN_IF_ERROR(
      hub->workers_.Join({options.self.worker_id, options.self.address, 0, {}}, options.clock()).status());
  return hub;
}

Hub::Hub(const HubOptions& options, std::optional<RunPlan> plan, HubState* state, ModelStore* models)
    : options_(options),
      state_(state),
      models_(models),
      experiment_yaml_(plan.has_value() ? plan->yaml : ""),
      experiment_checksum_(experiment_yaml_.empty() ? 0 : Checksum(experiment_yaml_.data(), experiment_yaml_.size())),
      workers_(options.workers),
      begun_(options.clock()),
      earlier_epoch_(state->record().last_epoch),
      failed_epoch_(earlier_epoch_),
      saver_(std::in_place, "hub-saver", 1, kMaxSaves),
      teller_(std::in_place, "hub-teller", 1, kMaxSaves),
      former_(std::in_place, "hub-former", 1, kMaxSaves) {
  if (plan.has_value()) {
    HubRecord record = state->record();
    for (const auto& [worker_id, steps] : record.progress.steps_of) {
      restored_.insert(worker_id);
    }
    if (plan->stop.max_env_steps > 0) {
      step_leases_.emplace(plan->stop.max_env_steps, options_.resumed ? std::set<std::string>() : restored_, begun_);
    }
    for (const auto& [worker_id, counted] : record.totals.of) {
      restored_.insert(worker_id);
    }
    totals_ = std::move(record.totals);
    if (plan->lock_step.has_value()) {
      turns_.emplace(*plan->lock_step);
    }
    if (plan->learners > 1) {
      const bool began = record.progress.running.has_value();
      group_.emplace(plan->learners, began ? begun_ + options_.gather_time : absl::InfiniteFuture());
    }
    tracker_.emplace(*std::move(plan));
    restored_finishing_ = record.progress.state == RunState::kFinishing;
    tracker_->Restore(
        std::move(record.progress), begun_,
        record.last_evaluation.has_value() ? std::optional(record.last_evaluation->evaluation.version) : std::nullopt);
    if (record.last_evaluation.has_value()) {
      restored_.insert(record.last_evaluation->worker_id);
      last_evaluation_of_[record.last_evaluation->worker_id] = record.last_evaluation->finished;
      evaluations_.push_back(*std::move(record.last_evaluation));
      evaluation_count_ = 1;
    }
  }
}

Hub::~Hub() {
  former_.reset();  // What it does is told.
  teller_.reset();
  saver_.reset();  // A save that is under way may yet fail, and is repeated then.
  SaveWeights();
  Save().IgnoreError();
}

absl::Status Hub::Save() {
  {
    MutexLock lock(&mutex_);
    if (!unsaved_ && !urgent_) {
      return absl::OkStatus();
    }
  }
  return SaveProgress();
}

absl::StatusOr<Assignment> Hub::Heartbeat(const WorkerReport& report) {
  const absl::Time now = options_.clock();
  absl::StatusOr<Assignment> assignment;
  bool save = false;
  std::vector<std::shared_ptr<const StoredModel>> dropped;
  {
    MutexLock lock(&mutex_);
    const absl::Status status = TakeReportLocked(report, now);
    dropped.swap(dropped_);
    const WorkerView* const worker = workers_.Find(report.worker_id);
    if (status.ok() && worker != nullptr) {
      assignment = AssignmentLocked(*worker);
    } else {
      assignment = status;
    }
    save = TakeSaveDueLocked(now);
  }
  if (save) {
    SaveSoon();
  }
  return assignment;
}

absl::Status Hub::End(RunState state, const std::string& reason) {
  {
    MutexLock lock(&mutex_);
    if (!tracker_.has_value()) {
      return absl::OkStatus();
    }
    const RunState before = tracker_->state();
    tracker_->EndNow(state, reason);
    sealed_ = true;
    NoteEndLocked(before);
  }
  return SaveProgress();
}

void Hub::Seal() {
  MutexLock lock(&mutex_);
  sealed_ = sealed_ || (tracker_.has_value() && IsOver(tracker_->state()));
}

uint64_t Hub::fenced_epoch() const {
  MutexLock lock(&mutex_);
  return fenced_epoch_;
}

RunState Hub::run_state() const {
  MutexLock lock(&mutex_);
  return tracker_.has_value() ? tracker_->state() : RunState::kNoExperiment;
}

int64_t Hub::env_steps() const {
  MutexLock lock(&mutex_);
  return tracker_.has_value() ? static_cast<int64_t>(tracker_->env_steps()) : 0;
}

int64_t Hub::EnvStepsAt(const ModelVersion& version) const {
  std::string model;
  int64_t steps = 0;
  {
    MutexLock lock(&mutex_);
    if (!tracker_.has_value()) {
      return 0;
    }
    model = tracker_->plan().name;
    steps = static_cast<int64_t>(tracker_->env_steps());
  }
  if (const std::shared_ptr<const StoredModel> same = models_->Find(model, version); same != nullptr) {
    return same->snapshot.progress.env_steps;
  }
  const std::shared_ptr<const StoredModel> newest = models_->Newest(model);
  return newest == nullptr ? steps : std::max(steps, newest->snapshot.progress.env_steps);
}

bool Hub::HasWorkers() const {
  MutexLock lock(&mutex_);
  return workers_.CountSeated() > 1;
}

RunStanding Hub::Standing() const {
  MutexLock lock(&mutex_);
  if (!tracker_.has_value()) {
    return {};
  }
  const RunProgress& progress = tracker_->progress();
  return {progress.state,
          progress.reason,
          tracker_->env_steps(),
          tracker_->learner_steps(),
          progress.running.value_or(absl::ZeroDuration()),
          progress.result};
}

void Hub::NoteLocked(const std::string& text) const {
  if (options_.note != nullptr) {
    options_.note(text);
  }
}

void Hub::SetFiguresUnrecorded(const std::string& why) {
  MutexLock lock(&mutex_);
  figures_unrecorded_ = why;
}

HubOverview Hub::Overview() {
  const absl::Time now = options_.clock();
  bool save = false;
  HubOverview overview;
  WorkerFigures own;
  if (options_.metrics != nullptr) {
    Metrics::Snapshot snapshot = options_.metrics->TakeSnapshot();
    own = {std::move(snapshot.activity), std::move(snapshot.counters), std::move(snapshot.gauges), SteadyElapsed(), ""};
  }
  {
    MutexLock lock(&mutex_);
    if (tracker_.has_value()) {
      const RunState before = tracker_->state();
      tracker_->Advance(now);  // Its time may have run out with nobody left to report anything.
      NoteEndLocked(before);
      ConcludeLocked(now);
      save = TakeSaveDueLocked(now);
    }
    FillOverviewLocked(now, std::move(own), &overview);
  }
  if (save) {
    SaveSoon();
  }
  return overview;
}

void Hub::FillOverviewLocked(absl::Time now, WorkerFigures own, HubOverview* out) {
  HubOverview& overview = *out;
  overview.weights_unsaved = WeightsUnsaved();
  own.gauges["weights_unsaved"] = WeightsFailure().ok() ? 0 : 1;
  if (const absl::Status status = workers_.Heartbeat(options_.self.worker_id, std::move(own), now); !status.ok()) {
    LogWarning("own figures: ", status.message());
  }
  overview.workers = workers_.Overview(now);
  if (turns_.has_value()) {
    overview.turn = TurnLocked();
    for (WorkerView& worker : overview.workers) {
      worker.current = worker.alive;  // Nothing has changed since it was told, however long ago that was.
    }
  }
  overview.evaluations.assign(evaluations_.begin(), evaluations_.end());
  overview.evaluation_count = evaluation_count_;
  overview.progress_unsaved = progress_unsaved_;
  overview.figures_unrecorded = figures_unrecorded_;
  overview.environment = environment_;
  if (tracker_.has_value()) {
    overview.run_state = tracker_->state();
    overview.outcome_reason = tracker_->progress().reason;
    overview.experiment_name = tracker_->plan().name;
    overview.experiment_yaml = tracker_->plan().yaml;
    overview.model = tracker_->plan().name;
    overview.replay_servers = tracker_->plan().replay_servers;
    overview.env_steps = tracker_->env_steps();
    overview.learner_steps = tracker_->learner_steps();
    overview.learner_steps_again = StepsAgainLocked();
    overview.result = tracker_->progress().result;
    overview.running = tracker_->progress().running.value_or(absl::ZeroDuration());
    overview.totals = {totals_.all, totals_.unseen, {}};
    if (const std::shared_ptr<const StoredModel> model = models_->Newest(overview.model); model != nullptr) {
      overview.model_version = model->snapshot.version;
      overview.model_bytes = model->snapshot.data.size();
    }
  }
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
    AnnounceLocked();
    LogInfo("environment of the run: ", environment_->DebugString());
  }
  if (!report.failure.empty()) {
    const std::string failure(Utf8Prefix(report.failure, kMaxFailureBytes));
    if (worker.failure.empty()) {  // It says so with each heartbeat that is left.
      LogError(name, " gives up: ", failure);
      NoteLocked(absl::StrCat(name, " gives up: ", failure));
    }
    workers_.SetFailure(report.worker_id, failure);
  }
  const RunState before = tracker_.has_value() ? tracker_->state() : RunState::kNoExperiment;
  const bool had_step = tracker_.has_value() && tracker_->progress().running.has_value();
  const absl::Duration running = had_step ? *tracker_->progress().running : absl::ZeroDuration();
  const auto steps = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return tracker_.has_value() ? std::make_pair(tracker_->env_steps(), tracker_->learner_steps())
                                : std::pair<uint64_t, uint64_t>();
  };
  const auto steps_before = steps();
  TakeEvaluationsLocked(report);
  if (tracker_.has_value()) {
    tracker_->ReportCounters(report.worker_id, worker.introduction.role, report.figures.counters, now);
    if (report.final_version.has_value() && worker.introduction.role == Role::kLearner &&
        worker.epoch >= LearningEpochLocked()) {
      tracker_->ReportFinalVersion(*report.final_version, now);
    }
    if (!report.failure.empty() && worker.introduction.role == Role::kLearner) {
      TakeLearnerFailureLocked(worker);
    }
    if (step_leases_.has_value() && worker.introduction.role == Role::kActor) {
      step_leases_->Report(report.worker_id, static_cast<int64_t>(tracker_->progress().steps_of.at(report.worker_id)));
    }
    TakeTurnReportLocked(report, worker.introduction.role);
    if (group_.has_value() && worker.introduction.role == Role::kLearner) {
      group_->ReportBroken(report.broken_group);
    }
    FormGroupIfDueLocked(now);
    NoteEndLocked(before);
    ConcludeLocked(now);
    const bool after_restart = restored_.erase(report.worker_id) > 0;
    const bool counted = totals_.Report(report.worker_id, worker.introduction.role, report.figures, after_restart);
    if (after_restart) {
      totals_.unseen["actor/env_steps"] += static_cast<double>(steps().first - steps_before.first);
      totals_.unseen["learner/learner_steps"] += static_cast<double>(steps().second - steps_before.second);
    }
    unsaved_ = unsaved_ || counted || steps() != steps_before || tracker_->progress().running > running;
    urgent_ = urgent_ || tracker_->progress().running.has_value() != had_step;
  }
  return absl::OkStatus();
}

uint64_t Hub::LearningEpochLocked() const {
  const std::shared_ptr<const StoredModel> model = models_->Newest(tracker_->plan().name);
  return model == nullptr || model->snapshot.version == restored_version_ ? earlier_epoch_
                                                                          : model->snapshot.version.epoch;
}

uint64_t Hub::StepsAgainLocked() const {
  std::optional<ModelVersion> reached;  // Of the latest learner that has said how far it is.
  for (const WorkerView* const learner : workers_.Alive(Role::kLearner)) {
    if (const auto steps = learner->figures->counters.find("learner_steps");
        steps != learner->figures->counters.end()) {
      const ModelVersion version = {learner->epoch, static_cast<uint64_t>(steps->second)};
      reached = reached.has_value() ? std::max(*reached, version) : version;
    }
  }
  if (!reached.has_value()) {
    return 0;
  }
  // Its weights may be known before its counter.
  if (const std::shared_ptr<const StoredModel> newest = models_->Newest(tracker_->plan().name);
      newest != nullptr && newest->snapshot.version.epoch == reached->epoch) {
    reached = std::max(*reached, newest->snapshot.version);
  }
  return tracker_->learner_steps() - std::min(tracker_->learner_steps(), reached->version);
}

void Hub::TakeLearnerFailureLocked(const WorkerView& learner) {
  const uint64_t learning_epoch = LearningEpochLocked();
  if (learner.epoch < learning_epoch) {
    return;  // One that was taken over from is expected to give up.
  }
  if (HasFinalWeightsLocked()) {
    LogWarning("learner ", learner.index, " has given up; its last weights are here, and are evaluated");
    return;
  }
  for (const WorkerView* other : workers_.Alive(Role::kLearner)) {
    if (other->failure.empty() && other->epoch >= learning_epoch) {
      LogWarning("the run goes on with learner ", other->index, ", epoch ", other->epoch);
      return;
    }
  }
  if (tracker_->state() == RunState::kRunning) {
    failed_epoch_ = learner.epoch;
  }
  tracker_->ReportLearnerFailure(learner.failure);
}

bool Hub::ReopenForLocked(uint64_t epoch, absl::Time now) {
  if (!tracker_.has_value() || sealed_ || epoch <= failed_epoch_) {
    return false;
  }
  const std::string reason = tracker_->progress().reason;
  if (!tracker_->Reopen(now)) {
    return false;
  }
  const std::string text =
      absl::StrCat("the run, which had failed (", reason, "), goes on with a learner of epoch ", epoch);
  LogWarning(text);
  NoteLocked(text);
  return true;
}

void Hub::NoteEndLocked(RunState before) {
  if (tracker_->state() != before) {
    const std::string text = absl::StrCat("the run is ", IsOver(tracker_->state()) ? "over: " : "",
                                          RunStateName(tracker_->state()), ": ", tracker_->progress().reason);
    LogInfo(text);
    NoteLocked(text);
    urgent_ = true;
    AnnounceLocked();
  }
}

absl::Status Hub::CheckEnvironmentLocked(const EnvironmentSpec& environment) const {
  WAGGLE_RETURN_IF_ERROR(Annotate(environment.Validate(), "environment"));
  if (environment_.has_value() && !(*environment_ == environment)) {
    return absl::FailedPreconditionError(absl::StrCat("this worker's environment is ", environment.DebugString(),
                                                      "; the run's is ", environment_->DebugString()));
  }
  return absl::OkStatus();
}

Assignment Hub::AssignmentLocked(const WorkerView& worker) {
  Assignment assignment;
  assignment.index = worker.index;
  assignment.epoch = worker.epoch;
  assignment.environment = environment_;
  assignment.actors = std::max<int64_t>(1, workers_.CountAlive(Role::kActor));
  assignment.replay_servers = workers_.Addresses(Role::kReplayServer);
  assignment.learners = workers_.Addresses(Role::kLearner);
  assignment.reducers = workers_.Addresses(Role::kReducer);
  assignment.said_at = options_.clock();  // Under the lock: later ones are said later.
  if (group_.has_value() && worker.introduction.role == Role::kLearner) {
    assignment.group = group_->SeatOf(worker.introduction.worker_id);
  }
  if (tracker_.has_value()) {
    assignment.run_state = tracker_->state();
    assignment.progress = tracker_->RunProgressNow();
    if (turns_.has_value()) {
      assignment.turn = TurnLocked();
    }
    if (IsOver(tracker_->state())) {
      assignment.result = tracker_->progress().result;
    }
    if (const std::shared_ptr<const StoredModel> model = models_->Newest(tracker_->plan().name); model != nullptr) {
      assignment.model_version = model->snapshot.version;
    }
  }
  return assignment;
}

}  // namespace waggle
