#include "param_server/run/hub.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "common/base/annotate.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/base/threads/stop_token.h"
#include "common/base/utf8.h"

namespace waggle {
namespace {

// One that runs, and one of each kind that waits.
constexpr size_t kMaxTasks = 4;

}  // namespace

absl::StatusOr<std::unique_ptr<Hub>> Hub::Create(const HubOptions& options, RunPlan plan, HubState* state,
                                                 ModelStore* models) {
  WAGGLE_ASSIGN_OR_RETURN(std::unique_ptr<RunWeights> weights,
                          RunWeights::Restore(plan, state, models, options.newest_weights, options.best_weights));
  RunSettings settings = plan.settings;
  auto hub = std::unique_ptr<Hub>(new Hub(options, std::move(plan), state, std::move(weights)));
  MutexLock lock(&hub->mutex_);
  hub->settings_ = std::move(settings);
  hub->workers_.Order(options.self, /*index=*/0, options.clock());
  WAGGLE_RETURN_IF_ERROR(
      hub->workers_.Join({options.self.worker_id, options.self.address, 0, {}}, options.clock()).status());
  return hub;
}

Hub::Hub(const HubOptions& options, RunPlan plan, HubState* state, std::unique_ptr<RunWeights> weights)
    : options_(options),
      state_(state),
      experiment_yaml_(plan.yaml),
      weights_(std::move(weights)),
      workers_(options.workers),
      course_(std::move(plan), state->record(),
              {weights_.get(), &saver_, &announcer_, options_.note, options.gather_time, options.resumed, options.cuts,
               options.restoration, options.turns},
              options.clock()),
      saver_(
          state, options.clock, [this] { SaveWeights(); },
          [this](HubRecord* record) {
            MutexLock lock(&mutex_);
            course_.Fill(workers_, options_.clock(), record);
          }),
      background_("hub-background", 1, kMaxTasks) {}

void Hub::Order(const WorkerIntroduction& worker, int64_t index) {
  const absl::Time now = options_.clock();
  MutexLock lock(&mutex_);
  if (const std::string holder = workers_.HolderOf(worker.role, index); !holder.empty()) {
    DismissLocked(holder, absl::StrCat("its seat has been given to ", worker.worker_id), now);
  }
  workers_.Order(worker, index, now);
}

std::optional<Role> Hub::RoleOf(const std::string& worker_id) const {
  MutexLock lock(&mutex_);
  return workers_.OrderedRole(worker_id);
}

absl::StatusOr<Hub::Seat> Hub::Join(const WorkerArrival& arrival) {
  const absl::Time now = options_.clock();
  WorkerArrival numbered = arrival;
  Role role = Role::kActor;
  Seat seat;
  {
    MutexLock lock(&mutex_);
    WAGGLE_ASSIGN_OR_RETURN(const WorkerView* const ordered, workers_.CheckArrival(arrival));
    role = ordered->introduction.role;
    seat.index = ordered->index;
    if (!numbered.life.has_value()) {
      numbered.life = ordered->life;  // The answer to its first Join was lost.
    }
    // The tracker must know the actor before the record does: a save drops steps_of of workers that it does not know.
    if (role == Role::kActor) {
      course_.ReportEnvSteps(arrival.worker_id, 0, now);
    }
  }
  WAGGLE_RETURN_IF_ERROR(state_->Number(role, seat.index, &numbered));
  const bool is_learner = role == Role::kLearner;
  bool reopened = false;
  {
    MutexLock lock(&mutex_);
    WAGGLE_ASSIGN_OR_RETURN(const WorkerView* const worker, workers_.Join(numbered, now));
    seat.epoch = worker->epoch;
    seat.life = worker->life.value_or(0);
    reopened = is_learner && course_.ReopenFor(seat.epoch, now);
    if (role == Role::kReplayServer && !arrival.address.empty()) {
      course_.NoteReturned(seat.index);
      EndReturnLocked();
    }
    if (reopened || !arrival.address.empty()) {  // Other workers may wait for the address.
      announcer_.Announce();
    }
    SettleLocked(now);
    seat.env_steps = static_cast<int64_t>(course_.env_steps());
    seat.assignment = AssignmentLocked(*worker);
    const WorkerIntroduction& who = worker->introduction;
    const std::string text = absl::StrCat(RoleName(role), " ", seat.index, " joined from ", absl::CHexEscape(who.host),
                                          ", process ", who.process_id, who.address.empty() ? "" : ", serving at ",
                                          who.address, is_learner ? absl::StrCat(", epoch ", seat.epoch) : "");
    if (role != Role::kReplayServer || !who.address.empty()) {  // It joins without its address first.
      LogInfo(text);
      options_.note(text);
    }
  }
  seat.assignment.experiment_yaml = experiment_yaml_;
  if (reopened) {
    saver_.SaveNow().IgnoreError();  // A failed save is tried again.
  }
  return seat;
}

void Hub::NoteLostItemsLocked(const WorkerView& worker) const {
  const auto items = worker.figures->gauges.find("items");
  if (worker.introduction.role == Role::kReplayServer && !course_.plan().keeps_items &&
      !IsTrainingOver(course_.state()) && items != worker.figures->gauges.end() && items->second > 0) {
    const std::string text = absl::StrFormat(
        "the items of replay server %d are lost, %.0f when it was last heard from: replay.durability: none",
        worker.index, items->second);
    LogWarning(text);
    options_.note(text);
  }
}

void Hub::LeaveLocked(const std::string& worker_id, const std::string& barred, absl::Time now) {
  if (const WorkerView* const worker = workers_.Find(worker_id); worker != nullptr) {
    NoteLostItemsLocked(*worker);
    if (worker->introduction.role == Role::kLearner) {
      saver_.NoteUrgentChange();  // A learner's last weights are saved when it leaves.
    }
  }
  workers_.Leave(worker_id, now, barred);
  course_.Forget(worker_id);
  SettleLocked(now);
}

void Hub::Leave(const std::string& worker_id) {
  {
    MutexLock lock(&mutex_);
    if (const WorkerView* const worker = workers_.Find(worker_id); worker != nullptr) {
      LogInfo(RoleName(worker->introduction.role), " ", worker->index, " left");
    }
    LeaveLocked(worker_id, /*barred=*/"", options_.clock());
  }
  weights_->Release(worker_id);
}

void Hub::Dismiss(const std::string& worker_id, const std::string& why) {
  MutexLock lock(&mutex_);
  DismissLocked(worker_id, why, options_.clock());
}

void Hub::DismissLocked(const std::string& worker_id, const std::string& why, absl::Time now) {
  const WorkerView* const worker = workers_.Find(worker_id);
  if (worker == nullptr) {
    workers_.Leave(worker_id, now);  // Ends its order: it cannot join any more.
    return;
  }
  LogWarning(RoleName(worker->introduction.role), " ", worker->index, " is dismissed: ", why);
  if (worker->introduction.role == Role::kLearner && course_.plan().learners <= 1) {
    fenced_epoch_ = std::max(fenced_epoch_, worker->epoch);
  }
  LeaveLocked(worker_id, absl::StrCat("this worker has been dismissed: ", why), now);
}

void Hub::SetAway(const std::string& worker_id) {
  MutexLock lock(&mutex_);
  workers_.SetAway(worker_id);
}

absl::StatusOr<Assignment> Hub::Heartbeat(const WorkerReport& report) {
  const absl::Time now = options_.clock();
  MutexLock lock(&mutex_);
  WAGGLE_RETURN_IF_ERROR(TakeReportLocked(report, now));
  SettleLocked(now);
  return AssignmentLocked(*workers_.Find(report.worker_id));
}

absl::Status Hub::TakeReportLocked(const WorkerReport& report, absl::Time now) {
  // All parts are checked before any is taken, so that a refused report changes nothing.
  if (report.environment.has_value()) {
    WAGGLE_RETURN_IF_ERROR(CheckEnvironmentLocked(*report.environment));
  }
  for (const DatedEvaluation& dated : report.evaluations) {
    WAGGLE_RETURN_IF_ERROR(Validate(dated.evaluation));
  }
  WAGGLE_RETURN_IF_ERROR(workers_.Heartbeat(report.worker_id, report.figures, now));
  const WorkerView& worker = *workers_.Find(report.worker_id);
  const Role role = worker.introduction.role;
  if (report.environment.has_value() && !environment_.has_value()) {
    environment_ = report.environment;
    announcer_.Announce();
    LogInfo("environment of the run: ", environment_->DebugString());
  }
  if (!report.failure.empty()) {
    const std::string failure(Utf8Prefix(report.failure, kMaxFailureBytes));
    if (worker.failure.empty()) {  // Later heartbeats repeat the failure.
      const std::string text = absl::StrCat(RoleName(role), " ", worker.index, " gives up: ", failure);
      LogError(text);
      options_.note(text);
    }
    workers_.SetFailure(report.worker_id, failure);
  }
  course_.TakeReport(report, worker, workers_, now);
  return absl::OkStatus();
}

absl::Status Hub::CheckEnvironmentLocked(const EnvironmentSpec& environment) const {
  WAGGLE_RETURN_IF_ERROR(Annotate(environment.Validate(), "environment"));
  if (environment_.has_value() && !(*environment_ == environment)) {
    return absl::FailedPreconditionError(absl::StrCat("environment: got ", environment.DebugString(),
                                                      "; wanted the run's, ", environment_->DebugString()));
  }
  return absl::OkStatus();
}

void Hub::SettleLocked(absl::Time now) {
  course_.Settle(workers_, now);
  if (course_.TakeGroupDue(workers_, now)) {
    // Neither task is refused: at most one of each kind waits (kMaxTasks).
    background_.Submit([this] { FormGroup(); }).IgnoreError();
  }
  if (const uint64_t cut = course_.TakeMadeCut(); cut != 0) {
    background_.Submit([this, cut] { SaveCut(cut, absl::OkStatus()); }).IgnoreError();
  }
  saver_.SaveIfDue(now);
}

absl::StatusOr<int64_t> Hub::TakeSteps(const std::string& worker_id, const StepRequest& request) {
  WAGGLE_RETURN_IF_ERROR(Validate(request));
  const absl::Time now = options_.clock();
  MutexLock lock(&mutex_);
  WAGGLE_RETURN_IF_ERROR(workers_.CheckSeated(worker_id));
  if (const Role role = workers_.Find(worker_id)->introduction.role; role != Role::kActor) {
    return absl::InvalidArgumentError(
        absl::StrCat("only actors take environment steps; this is the ", RoleName(role), " ", worker_id));
  }
  const absl::StatusOr<int64_t> allowed = course_.TakeSteps(worker_id, request, workers_, now);
  SettleLocked(now);
  return allowed;
}

void Hub::FormGroup() {
  const absl::StatusOr<uint64_t> epoch = state_->TakeEpoch();
  if (epoch.ok()) {
    group_store_.Begin(*epoch);  // Before any learner knows the epoch.
  } else {
    LogError("no group of learners is formed for now: ", epoch.status().message());
  }
  MutexLock lock(&mutex_);
  course_.FormGroup(epoch.value_or(0), &workers_);
}

std::optional<Turn> Hub::turn() const {
  MutexLock lock(&mutex_);
  return course_.turn(workers_);
}

void Hub::EndOwnTurn(uint64_t number) {
  MutexLock lock(&mutex_);
  course_.EndTurn(Role::kParamServer, number);
}

Assignment Hub::AssignmentLocked(const WorkerView& worker) {
  Assignment assignment;
  assignment.index = worker.index;
  assignment.epoch = worker.epoch;
  assignment.environment = environment_;
  assignment.settings = settings_.text;
  assignment.exploit = settings_.exploit;
  assignment.actors = std::max<int64_t>(1, workers_.CountAlive(Role::kActor));
  assignment.replay_servers = workers_.Addresses(Role::kReplayServer);
  assignment.learners = workers_.Addresses(Role::kLearner);
  assignment.reducers = workers_.Addresses(Role::kReducer);
  assignment.said_at = options_.clock();  // Under the lock: later assignments have later times.
  course_.Describe(worker, workers_, &assignment);
  return assignment;
}

absl::StatusOr<std::optional<Assignment>> Hub::News(const std::string& worker_id, std::optional<int64_t>* seen) {
  MutexLock lock(&mutex_);
  const WorkerView* const worker = workers_.Find(worker_id);
  if (worker == nullptr) {
    return absl::NotFoundError("this worker must join first");
  }
  if (*seen == announcer_.count()) {
    return std::optional<Assignment>();
  }
  *seen = announcer_.count();
  return std::optional<Assignment>(AssignmentLocked(*worker));
}

HubOverview Hub::Overview() {
  const absl::Time now = options_.clock();
  HubOverview overview;
  overview.weights_unsaved = weights_->Unsaved();
  WorkerFigures own;
  if (options_.metrics != nullptr) {
    Metrics::Snapshot snapshot = options_.metrics->TakeSnapshot();
    own = {std::move(snapshot.activity), std::move(snapshot.counters), std::move(snapshot.gauges), SteadyElapsed(), ""};
  }
  own.gauges["weights_unsaved"] = weights_->Failure().ok() ? 0 : 1;
  MutexLock lock(&mutex_);
  SettleLocked(now);
  overview.progress_unsaved = saver_.failure();
  if (const absl::Status status = workers_.Heartbeat(options_.self.worker_id, std::move(own), now); !status.ok()) {
    LogWarning("own figures: ", status.message());
  }
  overview.workers = workers_.Overview(now);
  for (WorkerView& worker : overview.workers) {
    // In lock-step figures do not change between two turns.
    worker.current = course_.plan().lock_step.has_value() ? worker.alive : worker.current;
  }
  overview.figures_unrecorded = figures_unrecorded_;
  overview.environment = environment_;
  overview.earlier_counters = options_.earlier_counters;
  course_.Describe(workers_, &overview);
  overview.experiment_yaml = PresentYamlLocked();
  return overview;
}

std::string Hub::PresentYamlLocked() const {
  return settings_.yaml.empty() ? experiment_yaml_ : settings_.yaml;
}

std::string Hub::present_yaml() const {
  MutexLock lock(&mutex_);
  return PresentYamlLocked();
}

void Hub::Set(RunSettings settings) {
  MutexLock lock(&mutex_);
  settings_ = std::move(settings);
  announcer_.Announce();
}

absl::Status Hub::End(RunState state, const std::string& reason) {
  {
    MutexLock lock(&mutex_);
    course_.End(state, reason);
  }
  return saver_.SaveNow();
}

void Hub::Seal() {
  MutexLock lock(&mutex_);
  course_.Seal();
}

uint64_t Hub::fenced_epoch() const {
  MutexLock lock(&mutex_);
  return fenced_epoch_;
}

RunState Hub::run_state() const {
  MutexLock lock(&mutex_);
  return course_.state();
}

int64_t Hub::env_steps() const {
  MutexLock lock(&mutex_);
  return static_cast<int64_t>(course_.env_steps());
}

bool Hub::HasWorkers() const {
  MutexLock lock(&mutex_);
  return workers_.CountSeated() > 1;
}

RunStanding Hub::Standing() const {
  MutexLock lock(&mutex_);
  return course_.Standing();
}

void Hub::SetFiguresUnrecorded(const std::string& why) {
  MutexLock lock(&mutex_);
  figures_unrecorded_ = why;
}

void Hub::SaveWeights() {
  std::set<std::string> evaluators;
  {
    MutexLock lock(&mutex_);
    for (const WorkerView* evaluator : workers_.Alive(Role::kEvaluator)) {
      evaluators.insert(evaluator->introduction.worker_id);
    }
  }
  weights_->Save(evaluators);
}

}  // namespace waggle
