// What a hub makes of evaluations: the run's result, its best weights, and its end; and how it tells of it.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/tensor/checksum.h"
#include "param_server/run/hub.h"

namespace waggle {
namespace {

constexpr size_t kMaxEvaluations = 1'000;

}  // namespace

absl::Status Hub::RestoreWeights() {
  std::optional<SavedModel> newest;
  std::optional<SavedModel> best;
  if (options_.newest_weights != nullptr) {
    newest = options_.newest_weights->TakeRestored();
    best = options_.best_weights->TakeRestored();
  }
  for (const std::optional<SavedModel>* model : {&newest, &best}) {
    if (model->has_value() && (*model)->experiment_yaml != experiment_yaml_) {
      return absl::FailedPreconditionError(
          "the data folder holds the weights of another experiment; give an empty --data-dir, or move its folder "
          "\"weights\" away");
    }
  }
  std::optional<ModelVersion> version;
  if (newest.has_value()) {
    version = newest->snapshot.version;
    WAGGLE_RETURN_IF_ERROR(state_->Update(
        [&version](HubRecord* record) { record->last_epoch = std::max(record->last_epoch, version->epoch); }));
    WAGGLE_RETURN_IF_ERROR(Annotate(models_->Publish(std::move(newest->snapshot)), "the weights that were kept"));
    LogInfo("goes on with the weights that were kept, ", DebugString(*version));
  }
  MutexLock lock(&mutex_);
  restored_version_ = version;
  if (!tracker_.has_value() || options_.best_weights == nullptr) {
    return absl::OkStatus();
  }
  // A hub that was killed may have written the weights and not the record of them, or the other way round: the weights
  // that are here are the best that there are, and say themselves how they were evaluated.
  const std::optional<RunResult>& result = tracker_->progress().result;
  if (!best.has_value() ? result.has_value()
                        : !result.has_value() || best->snapshot.version != result->evaluation.version) {
    std::optional<RunResult> kept = best.has_value() ? DecodeRunResult(best->remark) : std::nullopt;
    LogWarning("the weights of the best evaluation that was written down (",
               result.has_value() ? DebugString(result->evaluation.version) : "none", ") were not kept: ",
               kept.has_value() ? absl::StrCat("the result is ", DebugString(kept->evaluation.version))
                                : "the best is looked for anew");
    tracker_->RestoreResult(std::move(kept));
  }
  if (best.has_value()) {
    auto stored = std::make_shared<StoredModel>();
    stored->checksum = Checksum(best->snapshot.data);
    stored->snapshot = std::move(best->snapshot);
    models_->SetBest(std::move(stored));
  }
  return absl::OkStatus();
}

void Hub::TakeEvaluationsLocked(const WorkerReport& report) {
  for (const DatedEvaluation& dated : report.evaluations) {
    absl::Time& last = last_evaluation_of_.emplace(report.worker_id, absl::InfinitePast()).first->second;
    if (dated.finished <= last) {
      continue;  // Sent again, because the answer to it was lost.
    }
    last = dated.finished;
    evaluations_.push_back(dated);
    evaluations_.back().worker_id = report.worker_id;
    ++evaluation_count_;
    unsaved_ = tracker_.has_value();
    if (tracker_.has_value()) {
      CountEvaluationLocked(dated.evaluation);
    }
    if (evaluations_.size() > kMaxEvaluations) {
      evaluations_.pop_front();
    }
  }
}

void Hub::CountEvaluationLocked(const Evaluation& evaluation) {
  const std::shared_ptr<const StoredModel> weights = models_->Find(tracker_->plan().name, evaluation.version);
  if (weights == nullptr) {
    LogWarning("an evaluation of weights that are not here any more (", DebugString(evaluation.version),
               ") is shown, but does not count: they could not be kept");
    return;
  }
  if (!tracker_->ReportEvaluation(evaluation)) {
    return;
  }
  urgent_ = true;  // The result is to be written down with its weights.
  NoteLocked(absl::StrCat("the best weights by now are ", DebugString(evaluation.version), ": a mean return of ",
                          evaluation.mean_return, " over ", evaluation.episodes, " episodes, at ", evaluation.env_steps,
                          " environment steps"));
  dropped_.push_back(models_->SetBest(weights));
  if (options_.best_weights != nullptr) {
    options_.best_weights->Save({weights->snapshot, experiment_yaml_, EncodeRunResult(*tracker_->progress().result)});
  }
}

bool Hub::HasFinalWeightsLocked() const {
  const std::optional<ModelVersion>& version = tracker_->final_version();
  const std::shared_ptr<const StoredModel> newest = models_->Newest(tracker_->plan().name);
  return version.has_value() && newest != nullptr && !(newest->snapshot.version < *version);
}

void Hub::ConcludeLocked(absl::Time now) {
  if (tracker_->state() != RunState::kFinishing) {
    return;
  }
  // Those who were there before this hub have to join it first.
  const bool gathering = restored_finishing_ && now - begun_ < options_.gather_time;
  std::string hindrance;
  if (!gathering && workers_.CountAlive(Role::kEvaluator) == 0) {
    hindrance = "there is no evaluator";
  } else if (!gathering && !HasFinalWeightsLocked() && workers_.CountAlive(Role::kLearner) == 0) {
    hindrance = "there is no learner";
  }
  tracker_->Conclude(hindrance, now);
  NoteEndLocked(RunState::kFinishing);
}

void Hub::AnnounceLocked() {
  ++news_;
  if (!std::exchange(telling_, true)) {
    // Cannot be refused: at most one waits while one runs.
    teller_->Submit([this] { Tell(); }).IgnoreError();
  }
}

void Hub::Tell() {
  {
    MutexLock lock(&mutex_);
    telling_ = false;
  }
  listeners_.CallAll();
}

absl::StatusOr<std::optional<Assignment>> Hub::News(const std::string& worker_id, std::optional<int64_t>* seen) {
  MutexLock lock(&mutex_);
  const WorkerView* const worker = workers_.Find(worker_id);
  if (worker == nullptr) {
    return absl::NotFoundError("no such worker has joined; it has to join first");
  }
  if (*seen == news_) {
    return std::optional<Assignment>();
  }
  *seen = news_;
  return std::optional<Assignment>(AssignmentLocked(*worker));
}

}  // namespace waggle
