#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/threads/mutex.h"
#include "common/hub/ports/hub.h"
#include "param_server/models/model_store.h"
#include "param_server/models/weights_folder.h"
#include "param_server/run/experiment_tracker.h"
#include "param_server/run/hub_state.h"

namespace waggle {

// The newest and the best weights of a run, in memory and on the disk. Thread-safe; only Restore waits for the disk.
class RunWeights {
 public:
  // Publishes the weights that the folders hold. The record in `state` is corrected by them: its largest epoch, and its
  // result, which is that of the best weights. FAILED_PRECONDITION for the weights of another experiment. The pointers
  // outlive this.
  static absl::StatusOr<std::unique_ptr<RunWeights>> Restore(const RunPlan& plan, HubState* state, ModelStore* models,
                                                             WeightsFolder* newest, WeightsFolder* best);

  // Null if there are none.
  std::shared_ptr<const StoredModel> Newest() const { return models_->Newest(model_); }
  // A version that is still in memory; null otherwise.
  std::shared_ptr<const StoredModel> Find(const ModelVersion& version) const { return models_->Find(model_, version); }
  // True if the newest weights are of this version or a later one.
  bool HasReached(const ModelVersion& version) const;
  // Only learners of this epoch or a later one can still publish.
  uint64_t LearningEpoch() const;
  // The environment steps with which a version is stamped as it is pushed: those of its kept weights, else no fewer
  // than those of the version before it, which a killed hub may not have saved. `env_steps`: the run's, now.
  int64_t EnvStepsAt(const ModelVersion& version, int64_t env_steps) const;

  // Makes these the best weights, and has them saved with their result.
  void SetBest(std::shared_ptr<const StoredModel> weights, const RunResult& result) ABSL_LOCKS_EXCLUDED(mutex_);
  // Has the newest weights saved. Frees best weights that were replaced, and what workers other than these evaluators
  // hold.
  void Save(const std::set<std::string>& evaluators) ABSL_LOCKS_EXCLUDED(mutex_);
  // Frees the weights that a worker holds.
  void Release(const std::string& worker_id);

  // Why the last attempt to save weights failed.
  absl::Status Failure() const;
  // Why weights are not all on the disk, in words; empty if they are.
  std::string Unsaved() const;

 private:
  RunWeights(const RunPlan& plan, ModelStore* models, WeightsFolder* newest, WeightsFolder* best)
      : model_(plan.name), experiment_yaml_(plan.yaml), models_(models), newest_(newest), best_(best) {}

  const std::string model_;
  const std::string experiment_yaml_;
  ModelStore* const models_;
  WeightsFolder* const newest_;
  WeightsFolder* const best_;
  // Constant after Restore.
  std::optional<ModelVersion> restored_version_;
  uint64_t earlier_epoch_ = 0;  // The largest epoch that an earlier hub gave to a learner.
  Mutex mutex_;
  std::vector<std::shared_ptr<const StoredModel>> replaced_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace waggle
