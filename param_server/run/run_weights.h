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
  // Publishes the weights of the folders, and corrects the largest epoch and the result in the record of `state` by
  // them. FAILED_PRECONDITION for weights of another experiment. The pointers outlive this.
  static absl::StatusOr<std::unique_ptr<RunWeights>> Restore(const RunPlan& plan, HubState* state, ModelStore* models,
                                                             WeightsFolder* newest, WeightsFolder* best);

  // Null if there are no weights.
  std::shared_ptr<const StoredModel> Newest() const { return models_->Newest(model_); }
  // A version that is still in memory; null otherwise.
  std::shared_ptr<const StoredModel> Find(const ModelVersion& version) const { return models_->Find(model_, version); }
  // True if the newest weights have this version or a later one.
  bool HasReached(const ModelVersion& version) const;
  // Learners of earlier epochs cannot publish any more.
  uint64_t LearningEpoch() const;
  // The environment steps of a version that is pushed: those that it has if it is stored already, else `env_steps`, the
  // run's, but no fewer than those of the newest weights. A killed hub may not have saved all of the run's steps.
  int64_t EnvStepsAt(const ModelVersion& version, int64_t env_steps) const;

  // Makes these the best weights, and queues a save of them with their result.
  void SetBest(std::shared_ptr<const StoredModel> weights, const RunResult& result) ABSL_LOCKS_EXCLUDED(mutex_);
  // Queues a save of the newest weights. Frees replaced best weights and those held by workers beside `evaluators`.
  void Save(const std::set<std::string>& evaluators) ABSL_LOCKS_EXCLUDED(mutex_);
  // Frees the weights that a worker holds.
  void Release(const std::string& worker_id);

  // The status of the last attempt to save weights.
  absl::Status Failure() const;
  // Why some weights are not on the disk, in words; empty if all are.
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
  uint64_t earlier_epoch_ = 0;  // The largest epoch that an earlier hub gave.
  Mutex mutex_;
  std::vector<std::shared_ptr<const StoredModel>> replaced_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace waggle
