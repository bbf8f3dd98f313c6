#include "param_server/run/run_weights.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/base/tensor/checksum.h"

namespace waggle {
namespace {

// The result of a run. If a killed hub saved only the best weights or only the record, the weights' remark counts.
std::optional<RunResult> ResultOf(const std::optional<SavedModel>& best, const std::optional<RunResult>& recorded) {
  if (best.has_value() ? recorded.has_value() && best->snapshot.version == recorded->evaluation.version
                       : !recorded.has_value()) {
    return recorded;
  }
  std::optional<RunResult> kept = best.has_value() ? DecodeRunResult(best->remark) : std::nullopt;
  LogWarning("the weights of the best evaluation in the record (",
             recorded.has_value() ? DebugString(recorded->evaluation.version) : "none", ") were not kept: ",
             kept.has_value() ? absl::StrCat("the result is ", DebugString(kept->evaluation.version))
                              : "there is no result yet");
  return kept;
}

}  // namespace

absl::StatusOr<std::unique_ptr<RunWeights>> RunWeights::Restore(const RunPlan& plan, HubState* state,
                                                                ModelStore* models, WeightsFolder* newest,
                                                                WeightsFolder* best) {
  auto weights = std::unique_ptr<RunWeights>(new RunWeights(plan, models, newest, best));
  std::optional<SavedModel> newest_saved = newest->TakeRestored();
  std::optional<SavedModel> best_saved = best->TakeRestored();
  for (const std::optional<SavedModel>* saved : {&newest_saved, &best_saved}) {
    if (saved->has_value() && (*saved)->experiment_yaml != plan.yaml) {
      return absl::FailedPreconditionError(
          "the data folder holds the weights of another experiment; give an empty --data-dir, or move its folder "
          "\"weights\" away");
    }
  }
  WAGGLE_RETURN_IF_ERROR(state->Update([&](HubRecord* record) {
    if (newest_saved.has_value()) {
      record->last_epoch = std::max(record->last_epoch, newest_saved->snapshot.version.epoch);
    }
    record->progress.result = ResultOf(best_saved, record->progress.result);
  }));
  weights->earlier_epoch_ = state->last_epoch();
  if (newest_saved.has_value()) {
    weights->restored_version_ = newest_saved->snapshot.version;
    WAGGLE_RETURN_IF_ERROR(Annotate(models->Publish(std::move(newest_saved->snapshot)), "the weights that were kept"));
    LogInfo("goes on with the weights that were kept, ", DebugString(*weights->restored_version_));
  }
  if (best_saved.has_value()) {
    auto stored = std::make_shared<StoredModel>();
    stored->checksum = Checksum(best_saved->snapshot.data);
    stored->snapshot = std::move(best_saved->snapshot);
    models->SetBest(std::move(stored));
  }
  return weights;
}

bool RunWeights::HasReached(const ModelVersion& version) const {
  const std::shared_ptr<const StoredModel> newest = Newest();
  return newest != nullptr && !(newest->snapshot.version < version);
}

uint64_t RunWeights::LearningEpoch() const {
  const std::shared_ptr<const StoredModel> newest = Newest();
  return newest == nullptr || newest->snapshot.version == restored_version_ ? earlier_epoch_
                                                                            : newest->snapshot.version.epoch;
}

int64_t RunWeights::EnvStepsAt(const ModelVersion& version, int64_t env_steps) const {
  if (const std::shared_ptr<const StoredModel> same = Find(version); same != nullptr) {
    return same->snapshot.progress.env_steps;
  }
  const std::shared_ptr<const StoredModel> newest = Newest();
  return newest == nullptr ? env_steps : std::max(env_steps, newest->snapshot.progress.env_steps);
}

void RunWeights::SetBest(std::shared_ptr<const StoredModel> weights, const RunResult& result) {
  best_->Save({weights->snapshot, experiment_yaml_, EncodeRunResult(result)});
  MutexLock lock(&mutex_);
  replaced_.push_back(models_->SetBest(std::move(weights)));
}

void RunWeights::Save(const std::set<std::string>& evaluators) {
  std::vector<std::shared_ptr<const StoredModel>> replaced;  // Freed outside the lock.
  {
    MutexLock lock(&mutex_);
    replaced.swap(replaced_);
  }
  models_->KeepHolders([&evaluators](const std::string& holder) { return evaluators.count(holder) > 0; });
  if (const std::shared_ptr<const StoredModel> newest = Newest(); newest != nullptr) {
    newest_->Save({newest->snapshot, experiment_yaml_});
  }
}

void RunWeights::Release(const std::string& worker_id) {
  models_->KeepHolders([&worker_id](const std::string& holder) { return holder != worker_id; });
}

absl::Status RunWeights::Failure() const {
  WAGGLE_RETURN_IF_ERROR(newest_->failure());
  return best_->failure();
}

std::string RunWeights::Unsaved() const {
  const bool pending = newest_->pending() || best_->pending();
  const absl::Status failure = Failure();
  return !failure.ok() ? std::string(failure.message()) : pending ? "they are being written" : "";
}

}  // namespace waggle
