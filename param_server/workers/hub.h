#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/api/hub.h"
#include "common/base/mutex.h"
#include "common/metrics/metrics.h"
#include "param_server/models/model_store.h"
#include "param_server/workers/experiment_tracker.h"
#include "param_server/workers/hub_state.h"
#include "param_server/workers/worker_table.h"

namespace waggle {

// An evaluation, and when it was finished: by that time a report that is sent twice is known.
struct DatedEvaluation {
  Evaluation evaluation;
  absl::Time finished;
};

// A heartbeat.
struct WorkerReport {
  std::string worker_id;
  WorkerFigures figures;
  std::optional<EnvironmentSpec> environment;
  std::vector<DatedEvaluation> evaluations;
  std::string failure;  // Why the worker gives up; empty otherwise.
};

// Everything the hub knows, for people.
struct HubOverview {
  RunState run_state = RunState::kNoExperiment;
  std::string outcome_reason;
  std::string experiment_name;
  std::string experiment_yaml;
  std::optional<absl::Time> started;
  std::vector<WorkerView> workers;
  std::string model;
  std::optional<ModelVersion> model_version;
  uint64_t model_bytes = 0;
  std::vector<DatedEvaluation> evaluations;  // The newest, oldest first.
  uint64_t env_steps = 0;
  uint64_t learner_steps = 0;
  std::optional<EnvironmentSpec> environment;
};

// The time; never goes back.
using Clock = std::function<absl::Time()>;

// The wall clock's time when it is called first, and from there on as the monotonic clock has it.
absl::Time SteadyNow();

struct HubOptions {
  WorkerTableOptions workers;
  // How this process is shown among the others.
  WorkerIntroduction self;
  const Metrics* metrics = nullptr;  // Its own; outlives the hub. Null: none.
  Clock clock = &SteadyNow;
};

// Knows the experiment and the workers, and tells each what the others must know of it. Thread-safe; the calls return
// at once, but for a learner's Join, which waits for the disk.
class Hub {
 public:
  struct Seat {
    int64_t index = 0;
    uint64_t epoch = 0;
    Assignment assignment;
  };

  // `state` and `models` outlive the hub. `plan` is absent where there is no experiment; the state must hold the same
  // one (see AdoptExperiment).
  static absl::StatusOr<std::unique_ptr<Hub>> Create(const HubOptions& options, std::optional<RunPlan> plan,
                                                     HubState* state, ModelStore* models);

  // INVALID_ARGUMENT for an introduction that cannot be; RESOURCE_EXHAUSTED when there is no room.
  absl::StatusOr<Seat> Join(const WorkerIntroduction& introduction) ABSL_LOCKS_EXCLUDED(mutex_);

  // NOT_FOUND asks the worker to join again. FAILED_PRECONDITION, with both in the message, for an environment that is
  // not the run's. INVALID_ARGUMENT for figures that cannot be.
  absl::StatusOr<Assignment> Heartbeat(const WorkerReport& report) ABSL_LOCKS_EXCLUDED(mutex_);

  void Leave(const std::string& worker_id) ABSL_LOCKS_EXCLUDED(mutex_);

  // Where this process itself serves, once that is known: it may be told to take a free port.
  void SetOwnAddress(const std::string& address) ABSL_LOCKS_EXCLUDED(mutex_);

  HubOverview Overview() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  Hub(const HubOptions& options, std::optional<RunPlan> plan, HubState* state, ModelStore* models);

  absl::Status TakeReportLocked(const WorkerReport& report, absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckEnvironmentLocked(const EnvironmentSpec& environment) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Assignment AssignmentLocked(const WorkerView& worker, absl::Time now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Writes the run's progress down where it has changed.
  void SaveProgress() ABSL_LOCKS_EXCLUDED(mutex_);

  const HubOptions options_;
  HubState* const state_;
  ModelStore* const models_;
  const std::optional<absl::Time> started_;
  Mutex mutex_;
  WorkerTable workers_ ABSL_GUARDED_BY(mutex_);
  std::optional<ExperimentTracker> tracker_ ABSL_GUARDED_BY(mutex_);
  std::optional<EnvironmentSpec> environment_ ABSL_GUARDED_BY(mutex_);
  std::deque<DatedEvaluation> evaluations_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, absl::Time> last_evaluation_of_ ABSL_GUARDED_BY(mutex_);  // By worker.
  uint64_t newest_learner_ ABSL_GUARDED_BY(mutex_) = 0;                           // Its epoch.
  bool unsaved_ ABSL_GUARDED_BY(mutex_) = false;
};

// Settles which experiment a hub has. Without a given text it is the stored one, or none (empty). A given one is
// stored; FAILED_PRECONDITION, saying what can be done, if another one is stored already.
absl::StatusOr<std::string> AdoptExperiment(const std::string& given_yaml, absl::Time now, HubState* state);

}  // namespace waggle
