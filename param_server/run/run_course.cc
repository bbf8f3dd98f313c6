#include "param_server/run/run_course.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

// Workers of an earlier hub that have not joined this hub after this time count as gone.
constexpr absl::Duration kRejoinTime = absl::Hours(1);

}  // namespace

RunCourse::RunCourse(RunPlan plan, HubRecord record, Parts parts, absl::Time now)
    : parts_(std::move(parts)),
      begun_(now),
      tracker_(std::move(plan)),
      totals_(std::move(record.totals)),
      cuts_(this->plan().cuts, parts_.cuts, now),
      restored_finishing_(record.progress.state == RunState::kFinishing),
      failed_epoch_(record.last_epoch),
      told_(record.progress.state),
      told_begin_(record.progress.running.has_value()) {
  for (const auto& [worker_id, steps] : record.progress.steps_of) {
    restored_.insert(worker_id);
  }
  if (this->plan().stop.max_env_steps > 0) {
    step_leases_.emplace(this->plan().stop.max_env_steps, parts_.resumed ? std::set<std::string>() : restored_, now);
  }
  if (this->plan().lock_step.has_value()) {
    turns_.emplace(*this->plan().lock_step, parts_.turns);
  }
  if (this->plan().learners > 1) {
    group_.emplace(this->plan().learners, told_begin_ ? now + parts_.gather_time : absl::InfiniteFuture());
  }
  for (const auto& [worker_id, counted] : totals_.of) {
    restored_.insert(worker_id);
  }
  std::optional<ModelVersion> newest_evaluated;
  if (record.last_evaluation.has_value()) {
    newest_evaluated = record.last_evaluation->evaluation.version;
    restored_.insert(record.last_evaluation->worker_id);
    evaluations_.Add(*record.last_evaluation);
  }
  tracker_.Restore(std::move(record.progress), now, newest_evaluated);
}

void RunCourse::TakeReport(const WorkerReport& report, const WorkerView& worker, const WorkerTable& workers,
                           absl::Time now) {
  const Role role = worker.introduction.role;
  const std::optional<absl::Duration> running_before = progress().running;
  const uint64_t env_steps_before = env_steps();
  const uint64_t learner_steps_before = learner_steps();
  bool changed = false;
  for (DatedEvaluation dated : report.evaluations) {
    dated.worker_id = report.worker_id;
    if (evaluations_.Add(dated)) {
      changed = true;
      TakeEvaluation(dated.evaluation);
    }
  }
  tracker_.ReportCounters(report.worker_id, role, report.figures.counters, now);
  if (role == Role::kLearner) {
    learner_heard_ = true;
    if (report.final_version.has_value() && worker.epoch >= parts_.weights->LearningEpoch()) {
      tracker_.ReportFinalVersion(*report.final_version, now);
    }
    if (!report.failure.empty()) {
      TakeLearnerFailure(worker, workers);
    }
  }
  if (step_leases_.has_value() && role == Role::kActor) {
    step_leases_->Report(report.worker_id, static_cast<int64_t>(progress().steps_of.at(report.worker_id)));
  }
  if (group_.has_value() && role == Role::kLearner) {
    group_->ReportBroken(report.broken_group);
  }
  if (const auto items = report.figures.counters.find("items_written");
      turns_.has_value() && role == Role::kActor && items != report.figures.counters.end()) {
    turns_->CountItems(report.worker_id, static_cast<int64_t>(items->second));
  }
  if (report.cut.has_value() && role == Role::kLearner) {
    TakeCutReport(*report.cut, now);
  }
  EndTurn(role, report.turn_done);
  const bool after_restart = restored_.erase(report.worker_id) > 0;
  changed = totals_.Report(report.worker_id, role, report.figures, after_restart) || changed;
  const uint64_t env_steps_new = env_steps() - env_steps_before;
  const uint64_t learner_steps_new = learner_steps() - learner_steps_before;
  if (after_restart) {
    totals_.unseen["actor/env_steps"] += static_cast<double>(env_steps_new);
    totals_.unseen["learner/learner_steps"] += static_cast<double>(learner_steps_new);
  }
  if (changed || env_steps_new > 0 || learner_steps_new > 0 || progress().running > running_before) {
    parts_.saver->NoteChange();
  }
}

void RunCourse::ReportEnvSteps(const std::string& worker_id, double steps, absl::Time now) {
  tracker_.ReportEnvSteps(worker_id, steps, now);
  parts_.saver->NoteChange();
}

absl::StatusOr<int64_t> RunCourse::TakeSteps(const std::string& worker_id, const StepRequest& request,
                                             const WorkerTable& workers, absl::Time now) {
  if (!step_leases_.has_value()) {
    return absl::FailedPreconditionError("the run has no stop.max_env_steps; its actors need no leases");
  }
  ReportEnvSteps(worker_id, static_cast<double>(request.used), now);
  return step_leases_->Take(worker_id, request, static_cast<int64_t>(env_steps()), workers.CountAlive(Role::kActor),
                            now);
}

void RunCourse::TakeEvaluation(const Evaluation& evaluation) {
  const std::shared_ptr<const StoredModel> weights = parts_.weights->Find(evaluation.version);
  if (weights == nullptr) {
    LogWarning("an evaluation of ", DebugString(evaluation.version),
               " is shown, but does not count: its weights are not in memory any more");
    return;
  }
  if (!tracker_.ReportEvaluation(evaluation)) {
    return;
  }
  parts_.saver->NoteUrgentChange();  // The result must be saved with its weights.
  parts_.note(absl::StrCat("the best weights by now are ", DebugString(evaluation.version), ": a mean return of ",
                           evaluation.mean_return, " over ", evaluation.episodes, " episodes, at ",
                           evaluation.env_steps, " environment steps"));
  parts_.weights->SetBest(weights, *progress().result);
}

void RunCourse::TakeLearnerFailure(const WorkerView& learner, const WorkerTable& workers) {
  const uint64_t learning_epoch = parts_.weights->LearningEpoch();
  if (learner.epoch < learning_epoch) {
    return;  // A later learner has taken over, so that this one must give up.
  }
  if (HasFinalWeights()) {
    LogWarning("learner ", learner.index, " has given up; its last weights were published and are evaluated");
    return;
  }
  for (const WorkerView* other : workers.Alive(Role::kLearner)) {
    if (other->failure.empty() && other->epoch >= learning_epoch) {
      LogWarning("the run goes on with learner ", other->index, ", epoch ", other->epoch);
      return;
    }
  }
  if (state() == RunState::kRunning) {
    failed_epoch_ = learner.epoch;
  }
  tracker_.ReportLearnerFailure(learner.failure);
}

bool RunCourse::ReopenFor(uint64_t epoch, absl::Time now) {
  const std::string reason = progress().reason;
  if (sealed_ || epoch <= failed_epoch_ || !tracker_.Reopen(now)) {
    return false;
  }
  told_ = state();
  const std::string text =
      absl::StrCat("the run, which had failed (", reason, "), goes on with a learner of epoch ", epoch);
  LogWarning(text);
  parts_.note(text);
  return true;
}

void RunCourse::Settle(const WorkerTable& workers, absl::Time now) {
  tracker_.Advance(now);  // The run's time may end while no worker reports.
  if (cuts_.IsDue(now) && state() == RunState::kRunning && learner_steps() > 0) {
    BeginCut(now).IgnoreError();  // Without a learner it begins later.
  }
  if (const bool begun = progress().running.has_value(); std::exchange(told_begin_, begun) != begun) {
    parts_.saver->NoteUrgentChange();
  }
  AnnounceState();
  if (state() != RunState::kFinishing) {
    return;
  }
  const bool gathering = restored_finishing_ && now - begun_ < parts_.gather_time;
  std::string hindrance;
  if (!gathering && workers.CountAlive(Role::kEvaluator) == 0) {
    hindrance = "there is no evaluator";
  } else if (!gathering && !HasFinalWeights() && workers.CountAlive(Role::kLearner) == 0) {
    hindrance = "there is no learner";
  }
  tracker_.Conclude(hindrance, now);
  AnnounceState();
}

void RunCourse::End(RunState state, const std::string& reason) {
  tracker_.EndNow(state, reason);
  sealed_ = true;
  AnnounceState();
}

void RunCourse::AnnounceState() {
  if (std::exchange(told_, state()) == state()) {
    return;
  }
  const std::string text =
      absl::StrCat("the run is ", IsOver(told_) ? "over: " : "", RunStateName(told_), ": ", progress().reason);
  LogInfo(text);
  parts_.note(text);
  parts_.saver->NoteUrgentChange();
  parts_.announcer->Announce();
}

bool RunCourse::HasFinalWeights() const {
  return tracker_.final_version().has_value() && parts_.weights->HasReached(*tracker_.final_version());
}

uint64_t RunCourse::StepsAgain(const WorkerTable& workers) const {
  std::optional<ModelVersion> reached;  // The largest version of a learner that has reported its steps.
  for (const WorkerView* const learner : workers.Alive(Role::kLearner)) {
    if (const auto steps = learner->figures->counters.find("learner_steps");
        steps != learner->figures->counters.end()) {
      const ModelVersion version = {learner->epoch, static_cast<uint64_t>(steps->second)};
      reached = reached.has_value() ? std::max(*reached, version) : version;
    }
  }
  if (!reached.has_value()) {
    return 0;
  }
  // Its weights may come before its counter.
  if (const std::shared_ptr<const StoredModel> newest = parts_.weights->Newest();
      newest != nullptr && newest->snapshot.version.epoch == reached->epoch) {
    reached = std::max(*reached, newest->snapshot.version);
  }
  return learner_steps() - std::min(learner_steps(), reached->version);
}

void RunCourse::Forget(const std::string& worker_id) {
  evaluations_.Forget(worker_id);
  tracker_.Forget(worker_id);
  if (step_leases_.has_value()) {
    step_leases_->Return(worker_id);
  }
}

std::optional<Turn> RunCourse::turn(const WorkerTable& workers) const {
  if (!turns_.has_value()) {
    return std::nullopt;
  }
  Turn turn = turns_->turn();
  if (const std::vector<const WorkerView*> actors = workers.Alive(Role::kActor);
      turn.role == Role::kActor && !actors.empty()) {
    turn.index = actors.front()->index;
  }
  return turn;
}

void RunCourse::EndTurn(Role role, uint64_t number) {
  if (!turns_.has_value() || !turns_->Done(role, number, static_cast<int64_t>(learner_steps()))) {
    return;
  }
  if (const uint64_t cut = turns_->turn().cut; cut != 0 && cut != cuts_.in_progress()) {
    cuts_.Begin(cut, absl::InfinitePast());  // Time does not matter in lock-step.
  }
  parts_.announcer->Announce();
}

bool RunCourse::TakeAllReturned() {
  return parts_.restoration.has_value() && static_cast<int64_t>(returned_.size()) >= plan().replay_servers &&
         !std::exchange(return_ended_, true);
}

absl::StatusOr<uint64_t> RunCourse::BeginCut(absl::Time now) {
  if (state() != RunState::kRunning) {
    return absl::FailedPreconditionError(
        absl::StrCat("the run is ", RunStateName(state()), "; only a running one can have a cut"));
  }
  WAGGLE_RETURN_IF_ERROR(cuts_.CheckNext());
  if (!learner_heard_) {  // It may know a number of an earlier hub's attempt.
    return absl::UnavailableError("the learner has not reported yet");
  }
  const uint64_t number = turns_.has_value() ? turns_->RequestCut() : cuts_.NextNumber();
  cuts_.Begin(number, now);
  parts_.announcer->Announce();
  return number;
}

void RunCourse::TakeCutReport(const CutReport& report, absl::Time now) {
  const bool failed = !report.failure.empty() && report.number == cuts_.in_progress();
  if (cuts_.TakeReport(report)) {
    made_cut_ = report;
    cut_taken_ = false;
    // The learner's figures may be older. The record that is saved with the cut must not be.
    tracker_.ReportCounters("", Role::kLearner, {{"learner_steps", static_cast<double>(report.learner_steps)}}, now);
  }
  if (failed) {
    if (turns_.has_value()) {
      turns_->CutFailed(report.number);
    }
    const std::string text = absl::StrCat("cut ", report.number, " could not be made: ", report.failure);
    LogWarning(text);
    parts_.note(text);
  }
}

uint64_t RunCourse::TakeMadeCut() {
  const bool is_new = !turns_.has_value() && made_cut_.number != 0 && !std::exchange(cut_taken_, true);
  return is_new ? made_cut_.number : 0;
}

CutFacts RunCourse::PresentCut(absl::Time wall) const {
  return {made_cut_.number, made_cut_.learner_steps, static_cast<int64_t>(env_steps()), wall};
}

std::optional<TurnState> RunCourse::TurnsAfterCut() const {
  return turns_.has_value() ? std::make_optional(turns_->AfterCut()) : std::nullopt;
}

void RunCourse::CutSaved(uint64_t number, const absl::Status& status) {
  cuts_.Saved(number, status);
  if (turns_.has_value() && !status.ok()) {
    turns_->CutFailed(number);
  }
  const std::string text = status.ok()
                               ? absl::StrCat("cut ", number, " is complete: learner step ", made_cut_.learner_steps)
                               : absl::StrCat("cut ", number, " could not be saved: ", status.message());
  status.ok() ? LogInfo(text) : LogWarning(text);
  parts_.note(text);
  parts_.announcer->Announce();
}

std::vector<std::string> RunCourse::Groupable(const WorkerTable& workers) {
  std::vector<std::string> alive;
  for (const WorkerView* const learner : workers.Alive(Role::kLearner)) {
    if (learner->failure.empty()) {
      alive.push_back(learner->introduction.worker_id);
    }
  }
  return alive;
}

bool RunCourse::TakeGroupDue(const WorkerTable& workers, absl::Time now) {
  return group_.has_value() && !IsTrainingOver(state()) && group_->TakeDue(Groupable(workers), now);
}

void RunCourse::FormGroup(uint64_t epoch, WorkerTable* workers) {
  std::vector<std::string> members = Groupable(*workers);
  if (epoch == 0 || members.empty()) {
    group_->StopForming();
    return;
  }
  std::vector<int64_t> indices;
  for (const std::string& worker_id : members) {
    workers->SetEpoch(worker_id, epoch);
    indices.push_back(workers->Find(worker_id)->index);
  }
  for (const std::string& worker_id : group_->members()) {
    if (workers->Find(worker_id) == nullptr) {
      LogWarning(worker_id, " is lost to the group of learners");
    }
  }
  const std::string text =
      absl::StrCat("a group of epoch ", epoch, ": learners ", absl::StrJoin(indices, ", "), " of ", plan().learners);
  LogInfo(text);
  parts_.note(text);
  group_->Form(epoch, std::move(members));
  parts_.announcer->Announce();
}

void RunCourse::Fill(const WorkerTable& workers, absl::Time now, HubRecord* record) {
  if (now - begun_ > kRejoinTime) {
    restored_.clear();
  }
  const auto knows = [&](const std::string& worker_id) {
    return workers.Knows(worker_id) || restored_.count(worker_id) > 0;
  };
  tracker_.KeepOnly(knows);
  totals_.KeepOnly(knows);
  evaluations_.KeepOnly(knows);
  record->progress = progress();
  record->totals = totals_;
  if (!evaluations_.newest().empty()) {
    record->last_evaluation = evaluations_.newest().back();
  }
}

void RunCourse::Describe(const WorkerView& worker, const WorkerTable& workers, Assignment* assignment) const {
  if (group_.has_value() && worker.introduction.role == Role::kLearner) {
    assignment->group = group_->SeatOf(worker.introduction.worker_id);
  }
  assignment->run_state = state();
  assignment->progress = tracker_.RunProgressNow();
  assignment->turn = turn(workers);
  assignment->cut_wanted = turns_.has_value() ? 0 : cuts_.wanted();
  assignment->cuts = cuts_.numbers();
  if (worker.introduction.role == Role::kReplayServer && returned_.count(worker.index) == 0) {
    assignment->restoration = parts_.restoration;
  }
  if (!evaluations_.newest().empty()) {
    assignment->evaluated_rewards = evaluations_.newest().back().evaluation.mean_rewards;
  }
  if (IsOver(state())) {
    assignment->result = progress().result;
  }
  if (const std::shared_ptr<const StoredModel> newest = parts_.weights->Newest(); newest != nullptr) {
    assignment->model_version = newest->snapshot.version;
  }
}

void RunCourse::Describe(const WorkerTable& workers, HubOverview* overview) const {
  overview->run_state = state();
  overview->outcome_reason = progress().reason;
  overview->experiment_name = plan().name;
  overview->model = plan().name;
  overview->replay_servers = plan().replay_servers;
  overview->env_steps = env_steps();
  overview->learner_steps = learner_steps();
  overview->learner_steps_again = StepsAgain(workers);
  overview->result = progress().result;
  overview->running = progress().running.value_or(absl::ZeroDuration());
  overview->turn = turn(workers);
  overview->totals = {totals_.all, totals_.unseen, {}};
  overview->evaluations.assign(evaluations_.newest().begin(), evaluations_.newest().end());
  overview->evaluation_count = evaluations_.count();
  if (const std::shared_ptr<const StoredModel> newest = parts_.weights->Newest(); newest != nullptr) {
    overview->model_version = newest->snapshot.version;
    overview->model_bytes = newest->snapshot.data.size();
  }
}

RunStanding RunCourse::Standing() const {
  return {state(),
          progress().reason,
          env_steps(),
          learner_steps(),
          progress().running.value_or(absl::ZeroDuration()),
          progress().result,
          evaluations_.newest().empty() ? std::nullopt : std::make_optional(evaluations_.newest().back().evaluation)};
}

}  // namespace waggle
