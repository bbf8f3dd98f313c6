#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/metrics/metrics.h"
#include "common/base/steady_now.h"
#include "common/base/threads/executor.h"
#include "common/base/threads/mutex.h"
#include "common/hub/ports/hub.h"
#include "param_server/models/model_store.h"
#include "param_server/models/weights_folder.h"
#include "param_server/run/cut_folder.h"
#include "param_server/run/group_store.h"
#include "param_server/run/hub_state.h"
#include "param_server/run/listeners.h"
#include "param_server/run/progress_saver.h"
#include "param_server/run/run_course.h"
#include "param_server/run/run_report.h"
#include "param_server/run/run_weights.h"
#include "param_server/run/worker_table.h"

namespace waggle {

struct HubOptions {
  WorkerTableOptions workers;
  WorkerIntroduction self;           // This process, which is shown among the workers.
  const Metrics* metrics = nullptr;  // Metrics of this process; may be null. They outlive the hub.
  // The folders from which the hub restores the run's weights; they outlive the hub.
  WeightsFolder* newest_weights = nullptr;
  WeightsFolder* best_weights = nullptr;
  Clock clock = &SteadyNow;
  // Time for workers of an earlier hub to join this one before they count as lost.
  absl::Duration gather_time = absl::Seconds(10);
  // The run had ended and goes on: no earlier worker holds environment steps.
  bool resumed = false;
  CutFolder* cut_folder = nullptr;  // Outlives the hub. Null: the run has no cuts.
  std::vector<uint64_t> cuts = {};  // Those of the folder.
  std::optional<Restoration> restoration = {};
  TurnState turns = {};               // In lock-step: the turn to begin with.
  CounterSums earlier_counters = {};  // See HubOverview.
  // Takes the run's events, in words. Called under a lock: it must not block or call the hub.
  std::function<void(const std::string& text)> note = [](const std::string&) {};
};

// The hub of one run: seats workers, takes reports, and makes assignments. Thread-safe. Only Join, End and Save block.
class Hub {
 public:
  struct Seat {
    int64_t index = 0;
    uint64_t epoch = 0;
    uint64_t life = 0;
    int64_t env_steps = 0;  // The run's environment steps so far.
    Assignment assignment;
  };

  // Publishes the saved weights. Errors as RunWeights::Restore. `state`, which has adopted the plan's experiment, and
  // `models` outlive the hub.
  static absl::StatusOr<std::unique_ptr<Hub>> Create(const HubOptions& options, RunPlan plan, HubState* state,
                                                     ModelStore* models);
  // Saves the last progress.
  ~Hub() = default;

  // The pool has given a worker a seat: it may join. An earlier worker of the seat is dismissed.
  void Order(const WorkerIntroduction& worker, int64_t index) ABSL_LOCKS_EXCLUDED(mutex_);
  // Absent if the worker has no order.
  std::optional<Role> RoleOf(const std::string& worker_id) const ABSL_LOCKS_EXCLUDED(mutex_);

  // Blocks until the worker's epoch or life is on the disk. Errors as HubState::Number and WorkerTable::CheckArrival.
  absl::StatusOr<Seat> Join(const WorkerArrival& arrival) ABSL_LOCKS_EXCLUDED(mutex_);

  // Returns the assignment without the experiment, which never changes. NOT_FOUND: the worker must join again.
  // FAILED_PRECONDITION if the worker's environment is not the run's. INVALID_ARGUMENT for wrong figures.
  absl::StatusOr<Assignment> Heartbeat(const WorkerReport& report) ABSL_LOCKS_EXCLUDED(mutex_);

  // The environment steps that an actor may take in all its life; see StepLeases. NOT_FOUND: it must join again.
  // FAILED_PRECONDITION if the run has no limit on steps. INVALID_ARGUMENT for a wrong request or role.
  absl::StatusOr<int64_t> TakeSteps(const std::string& worker_id, const StepRequest& request)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // The complete experiment, with the settings.
  std::string present_yaml() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Sets all settings, and announces them to the workers. The caller has saved them.
  void Set(RunSettings settings) ABSL_LOCKS_EXCLUDED(mutex_);

  void Leave(const std::string& worker_id) ABSL_LOCKS_EXCLUDED(mutex_);

  // The worker counts as dead, and its seat is free. If it still lives it is refused for this reason.
  void Dismiss(const std::string& worker_id, const std::string& why) ABSL_LOCKS_EXCLUDED(mutex_);

  // The pool does not hear the worker, and reserves its seat.
  void SetAway(const std::string& worker_id) ABSL_LOCKS_EXCLUDED(mutex_);

  // Ends the run as stopped or failed, if it is not over, and saves that. Later learners cannot reopen it.
  absl::Status End(RunState state, const std::string& reason) ABSL_LOCKS_EXCLUDED(mutex_);
  // Saves the run's progress.
  absl::Status Save() { return saver_.SaveIfChanged(); }
  // A run that is over cannot be reopened any more.
  void Seal() ABSL_LOCKS_EXCLUDED(mutex_);

  // True if a worker beside the hub itself has joined and has not left.
  bool HasWorkers() const ABSL_LOCKS_EXCLUDED(mutex_);
  // True while weights are being written, or cannot be written.
  bool HasUnsavedWeights() const { return !weights_->Unsaved().empty(); }
  RunState run_state() const ABSL_LOCKS_EXCLUDED(mutex_);  // Cheaper than Overview.
  // The run's environment steps so far.
  int64_t env_steps() const ABSL_LOCKS_EXCLUDED(mutex_);
  // See RunWeights::EnvStepsAt.
  int64_t EnvStepsAt(const ModelVersion& version) const { return weights_->EnvStepsAt(version, env_steps()); }
  RunStanding Standing() const ABSL_LOCKS_EXCLUDED(mutex_);

  // The largest epoch of a dismissed learner, whose weights are refused; 0: none. The next epoch fences groups instead.
  uint64_t fenced_epoch() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Calls all listeners, in this thread.
  void WakeAll() { announcer_.listeners().CallAll(); }

  // Calls `listener`, which must return soon, if workers must hear news at once. The hub outlives the subscription.
  std::unique_ptr<Listeners::Subscription> Watch(std::function<void()> listener) {
    return announcer_.listeners().Add(std::move(listener));
  }
  // The worker's assignment, as Heartbeat, if there is news since `*seen`. Then sets `*seen`.
  absl::StatusOr<std::optional<Assignment>> News(const std::string& worker_id, std::optional<int64_t>* seen)
      ABSL_LOCKS_EXCLUDED(mutex_);

  GroupStore* group_store() { return &group_store_; }

  HubOverview Overview() ABSL_LOCKS_EXCLUDED(mutex_);

  // Absent if the run is not in lock-step. The recorder of the run's figures ends the parameter server's turn.
  std::optional<Turn> turn() const ABSL_LOCKS_EXCLUDED(mutex_);
  void EndOwnTurn(uint64_t number) ABSL_LOCKS_EXCLUDED(mutex_);

  // Begins a cut and returns its number. FAILED_PRECONDITION if the run does not train, or can have no cuts.
  // UNAVAILABLE while a cut is being made.
  absl::StatusOr<uint64_t> BeginCut() ABSL_LOCKS_EXCLUDED(mutex_);
  // Saves the hub's part of this cut, of which the learner has made its part, after which it is complete. The cut fails
  // if the learner has not, or with the error of `prepared`. Waits for the disk.
  void SaveCut(uint64_t number, const absl::Status& prepared) ABSL_LOCKS_EXCLUDED(mutex_);
  // The cut that is being made, and the newest attempt if it has failed.
  struct CutStanding {
    uint64_t in_progress = 0;  // 0: none.
    uint64_t failed = 0;       // 0: none.
    std::string failure;
  };
  CutStanding cut_standing() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Why figures are not recorded for now, in words; empty if they are.
  void SetFiguresUnrecorded(const std::string& why) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  Hub(const HubOptions& options, RunPlan plan, HubState* state, std::unique_ptr<RunWeights> weights);

  absl::Status TakeReportLocked(const WorkerReport& report, absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckEnvironmentLocked(const EnvironmentSpec& environment) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // After a change: updates the run, and starts the tasks that it needs in the background.
  void SettleLocked(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::string PresentYamlLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Without the experiment.
  Assignment AssignmentLocked(const WorkerView& worker) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // `barred`: as WorkerTable::Leave.
  void LeaveLocked(const std::string& worker_id, const std::string& barred, absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DismissLocked(const std::string& worker_id, const std::string& why, absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Notes the items that are lost with a replay server, if they were in its memory alone.
  void NoteLostItemsLocked(const WorkerView& worker) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FormGroup() ABSL_LOCKS_EXCLUDED(mutex_);
  void SaveWeights() ABSL_LOCKS_EXCLUDED(mutex_);
  // The counters of the run's workers, present and past.
  CounterSums CountersLocked(absl::Time now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The run's record, with all weights on the disk.
  absl::StatusOr<std::string> RecordOfCut() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status SavePartOfCut(const CutFacts& facts, const std::optional<TurnState>& turns, CounterSums counters)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Lets the run's return to a cut be over once all replay servers have gone back.
  void EndReturnLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const HubOptions options_;
  HubState* const state_;
  const std::string experiment_yaml_;  // As it was submitted: settings have other ways.
  const std::unique_ptr<RunWeights> weights_;
  GroupStore group_store_;
  mutable Mutex mutex_;
  WorkerTable workers_ ABSL_GUARDED_BY(mutex_);
  RunCourse course_ ABSL_GUARDED_BY(mutex_);
  std::optional<EnvironmentSpec> environment_ ABSL_GUARDED_BY(mutex_);
  RunSettings settings_ ABSL_GUARDED_BY(mutex_);
  std::string figures_unrecorded_ ABSL_GUARDED_BY(mutex_);
  uint64_t fenced_epoch_ ABSL_GUARDED_BY(mutex_) = 0;
  // Last, so that they are destroyed first: their threads use all other members.
  ProgressSaver saver_;
  Announcer announcer_;
  Executor background_;  // Forms groups and saves cuts, which waits for the disk.
};

}  // namespace waggle
