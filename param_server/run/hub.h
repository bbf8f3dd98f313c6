#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/api/hub.h"
#include "common/base/executor.h"
#include "common/base/mutex.h"
#include "common/base/steady_now.h"
#include "common/metrics/metrics.h"
#include "param_server/models/model_store.h"
#include "param_server/models/weights_folder.h"
#include "param_server/run/experiment_tracker.h"
#include "param_server/run/group_store.h"
#include "param_server/run/hub_state.h"
#include "param_server/run/learner_group.h"
#include "param_server/run/listeners.h"
#include "param_server/run/run_totals.h"
#include "param_server/run/step_leases.h"
#include "param_server/run/worker_table.h"

namespace waggle {

// A heartbeat.
struct WorkerReport {
  std::string worker_id;
  WorkerFigures figures;
  std::optional<EnvironmentSpec> environment;
  std::vector<DatedEvaluation> evaluations;
  std::optional<ModelVersion> final_version;  // Of a learner that has stopped training.
  uint64_t turn_done = 0;                     // The last turn that the worker has done, in lock-step.
  uint64_t broken_group = 0;                  // Of a learner: the group's epoch; 0: none.
  std::string failure;                        // Why the worker gives up; empty otherwise.
};

// Everything the hub knows, for people.
struct HubOverview {
  RunState run_state = RunState::kNoExperiment;
  std::string outcome_reason;
  std::string experiment_name;
  std::string experiment_yaml;
  std::vector<WorkerView> workers;
  std::string model;
  std::optional<ModelVersion> model_version;
  uint64_t model_bytes = 0;
  std::vector<DatedEvaluation> evaluations;  // The newest, oldest first.
  uint64_t evaluation_count = 0;             // All that this hub has had: more than those above, once they are many.
  uint64_t env_steps = 0;
  uint64_t learner_steps = 0;
  uint64_t learner_steps_again =
      0;                       // Those that the present learner, which went on from an earlier step, has to repeat.
  int64_t replay_servers = 0;  // That the run has; 0 without an experiment.
  absl::Duration running;      // The time of the run: see ExperimentTracker.
  RunTotals totals;            // Without what is of each worker.
  std::optional<EnvironmentSpec> environment;
  std::optional<RunResult> result;
  std::string weights_unsaved;     // Why the newest and the best weights are not all on the disk; empty where they are.
  std::string progress_unsaved;    // Why the last save of the run's progress failed; empty if it did not.
  std::string figures_unrecorded;  // Why figures are not on the disk; empty where they are.
  std::optional<Turn> turn;        // Absent where the run is not in lock-step.
};

// How a run stands, in short.
struct RunStanding {
  RunState state = RunState::kNoExperiment;
  std::string reason;  // In words, why it ended.
  uint64_t env_steps = 0;
  uint64_t learner_steps = 0;
  absl::Duration running;  // The time of the run, as of the last report or look at it: see ExperimentTracker.
  std::optional<RunResult> result;
};

// The time; never goes back.
using Clock = std::function<absl::Time()>;

struct HubOptions {
  WorkerTableOptions workers;
  // How this process is shown among the others.
  WorkerIntroduction self;
  const Metrics* metrics = nullptr;  // Its own; outlives the hub. Null: none.
  // Where the run's weights are kept, and come from when the hub begins; they outlive the hub. Null: nowhere.
  WeightsFolder* newest_weights = nullptr;
  WeightsFolder* best_weights = nullptr;
  Clock clock = &SteadyNow;
  // Workers of an earlier hub have so long to join this one before they count as lost.
  absl::Duration gather_time = absl::Seconds(10);
  // The run had ended and goes on: no worker of before has environment steps that it was given.
  bool resumed = false;
  // Told what happens in the run, in words, as people want to know it later; called under a lock, so it returns at once
  // and does not call the hub. Null: nobody is.
  std::function<void(const std::string& text)> note;
};

// Knows the experiment and the workers, and tells each what the others must know of it. Thread-safe; the calls return
// at once, but for the Join of a learner, an actor or an evaluator. Progress is written to the state by a thread of its
// own: its end and its beginning at once, steps and evaluations every few seconds and when the hub ends. With it go the
// newest weights; the best ones are written at once.
class Hub {
 public:
  struct Seat {
    int64_t index = 0;
    uint64_t epoch = 0;
    uint64_t life = 0;
    int64_t env_steps = 0;  // Of the run so far.
    Assignment assignment;
  };

  // `state` and `models` outlive the hub. `plan` is absent where there is no experiment; the state must hold the same
  // one (see AdoptExperiment). Publishes the weights that were kept. FAILED_PRECONDITION for those of another
  // experiment.
  static absl::StatusOr<std::unique_ptr<Hub>> Create(const HubOptions& options, std::optional<RunPlan> plan,
                                                     HubState* state, ModelStore* models);
  // Returns when the last progress is written.
  ~Hub();

  // The pool has given a worker a seat: it may join. The worker that had the seat before is dismissed.
  void Order(const WorkerIntroduction& worker, int64_t index) ABSL_LOCKS_EXCLUDED(mutex_);
  // The role of a worker, if it has an order.
  std::optional<Role> RoleOf(const std::string& worker_id) const ABSL_LOCKS_EXCLUDED(mutex_);

  // A learner's blocks until its epoch is on the disk, an actor's and an evaluator's until its life is: no other can be
  // given it, whatever happens. Errors as WorkerTable::CheckArrival's; INVALID_ARGUMENT for a life that cannot be;
  // FAILED_PRECONDITION for an epoch that no learner was given; UNAVAILABLE where a life cannot be written down.
  absl::StatusOr<Seat> Join(const WorkerArrival& arrival) ABSL_LOCKS_EXCLUDED(mutex_);

  // The assignment comes without the experiment, which never changes. NOT_FOUND asks the worker to join again.
  // FAILED_PRECONDITION, with both in the message, for an environment that is not the run's. INVALID_ARGUMENT for
  // figures that cannot be.
  absl::StatusOr<Assignment> Heartbeat(const WorkerReport& report) ABSL_LOCKS_EXCLUDED(mutex_);

  // How many environment steps an actor may take in all its life; see StepLeases. NOT_FOUND asks the worker to join
  // again. FAILED_PRECONDITION where the run has no limit on them. INVALID_ARGUMENT for figures that cannot be, and for
  // a worker that is no actor.
  absl::StatusOr<int64_t> TakeSteps(const std::string& worker_id, const StepRequest& request)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Complete; empty where there is none.
  const std::string& experiment_yaml() const { return experiment_yaml_; }
  // 0 where there is none.
  uint64_t experiment_checksum() const { return experiment_checksum_; }

  void Leave(const std::string& worker_id) ABSL_LOCKS_EXCLUDED(mutex_);

  // The worker is taken for dead, and another one may have its seat at once. Should it live all the same it is refused
  // from now on, with this reason.
  void Dismiss(const std::string& worker_id, const std::string& why) ABSL_LOCKS_EXCLUDED(mutex_);

  // The pool does not hear the worker, and keeps its seat for it.
  void SetAway(const std::string& worker_id) ABSL_LOCKS_EXCLUDED(mutex_);

  // Ends the run as stopped or failed, if it is not over; no learner that comes later lets it go on. Returns when that
  // is on the disk, or why it is not.
  absl::Status End(RunState state, const std::string& reason) ABSL_LOCKS_EXCLUDED(mutex_);
  // Writes down what is not on the disk of the run's progress; returns when it is, or why it is not.
  absl::Status Save() ABSL_LOCKS_EXCLUDED(mutex_);
  // A run that is over stays so.
  void Seal() ABSL_LOCKS_EXCLUDED(mutex_);

  // Whether any worker has joined and has not left, beside the hub itself.
  bool HasWorkers() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether weights are still to be written, or cannot be.
  bool HasUnsavedWeights() const { return !WeightsUnsaved().empty(); }
  // Cheap; see Overview for all.
  RunState run_state() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Environment steps of the run that actors have reported so far.
  int64_t env_steps() const ABSL_LOCKS_EXCLUDED(mutex_);
  // The environment steps that a version is stamped with as it is pushed: those that its kept weights have, else
  // no fewer than the version before it, whose steps a hub that was killed may not have written down.
  int64_t EnvStepsAt(const ModelVersion& version) const ABSL_LOCKS_EXCLUDED(mutex_);
  RunStanding Standing() const ABSL_LOCKS_EXCLUDED(mutex_);

  // The largest epoch of a learner that was dismissed, 0 for none: what it still sends must not count. A group of
  // learners goes on without one of its own.
  uint64_t fenced_epoch() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Has all listeners called, though there is no news.
  void WakeAll() { listeners_.CallAll(); }

  // Calls `listener` when there is something that workers must know at once, from a thread that it does not hold up for
  // long. As ModelStore::Watch; the hub outlives the subscription.
  std::unique_ptr<Listeners::Subscription> Watch(std::function<void()> listener) {
    return listeners_.Add(std::move(listener));
  }
  // The worker's assignment, as Heartbeat, if there is news since `*seen`, which it then sets; nothing otherwise.
  absl::StatusOr<std::optional<Assignment>> News(const std::string& worker_id, std::optional<int64_t>* seen)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // The map over which a run's several learners meet.
  GroupStore* group_store() { return &group_store_; }

  HubOverview Overview() ABSL_LOCKS_EXCLUDED(mutex_);

  // Whose turn it is; absent where the run is not in lock-step. A turn of the parameter server's is for whoever records
  // the run's figures, who ends it.
  std::optional<Turn> turn() const ABSL_LOCKS_EXCLUDED(mutex_);
  void EndOwnTurn(uint64_t number) ABSL_LOCKS_EXCLUDED(mutex_);

  // For people: why figures are not recorded for now; empty where they are.
  void SetFiguresUnrecorded(const std::string& why) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  Hub(const HubOptions& options, std::optional<RunPlan> plan, HubState* state, ModelStore* models);

  // Learners that can be of a group, in the order of their indices.
  std::vector<std::string> GroupableLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Has a group formed in the background, if it is time to.
  void FormGroupIfDueLocked(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FormGroup() ABSL_LOCKS_EXCLUDED(mutex_);
  // FAILED_PRECONDITION for a learner that brings an epoch back that none was given.
  absl::Status CheckEpoch(uint64_t epoch) const;
  // Gives a worker that has an order its epoch or its life, once that is on the disk.
  absl::Status Number(Role role, int64_t index, WorkerArrival* arrival);
  // The epoch from which on a learner can publish, as nobody later has published.
  uint64_t LearningEpochLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // A learner gives up: the run has failed if no other one is left that could go on with it.
  void TakeLearnerFailureLocked(const WorkerView& learner) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Steps that the present learner has to repeat.
  uint64_t StepsAgainLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Lets a run that has failed go on with a learner that has come after. Returns whether it did.
  bool ReopenForLocked(uint64_t epoch, absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Checks the weights that were kept against the run, and makes them known.
  absl::Status RestoreWeights() ABSL_LOCKS_EXCLUDED(mutex_);
  // Has the newest weights written down; the best ones are when they become that.
  void SaveWeights() ABSL_LOCKS_EXCLUDED(mutex_);
  std::string WeightsUnsaved() const;
  absl::Status WeightsFailure() const;
  // The report has been checked.
  void TakeEvaluationsLocked(const WorkerReport& report) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Has it judged, if its weights are still there.
  void CountEvaluationLocked(const Evaluation& evaluation) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether the weights that the learner has called its last are here.
  bool HasFinalWeightsLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Ends a run that is finishing, if it is time to.
  void ConcludeLocked(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NoteLocked(const std::string& text) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // `barred`: as WorkerTable::Leave.
  void LeaveLocked(const std::string& worker_id, const std::string& barred, absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DismissLocked(const std::string& worker_id, const std::string& why, absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Says what has gone with a worker that is lost: the items of a replay server, if they were in its memory alone.
  void NoteLostItemsLocked(const WorkerView& worker) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // There is something that workers must know at once: tells them in the background.
  void AnnounceLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Tell() ABSL_LOCKS_EXCLUDED(mutex_);
  void FillOverviewLocked(absl::Time now, WorkerFigures own, HubOverview* out) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Says, has saved and announces that the run has ended or is finishing, if it does so since then.
  void NoteEndLocked(RunState before) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status TakeReportLocked(const WorkerReport& report, absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckEnvironmentLocked(const EnvironmentSpec& environment) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // In lock-step: what a worker of this role has written, and which turn it has done.
  void TakeTurnReportLocked(const WorkerReport& report, Role role) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndTurnLocked(Role role, uint64_t number) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Turn TurnLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Without the experiment.
  Assignment AssignmentLocked(const WorkerView& worker) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether it is time to write progress down; the caller then has it done, without the lock.
  bool TakeSaveDueLocked(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Has progress written down in the background.
  void SaveSoon() ABSL_LOCKS_EXCLUDED(mutex_);
  // So that what is kept of workers that went without a goodbye does not grow for ever.
  void ForgetUnknownLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Writes the run's progress down. What cannot be written is tried again, and people can see why: see
  // HubOverview::progress_unsaved.
  absl::Status SaveProgress() ABSL_LOCKS_EXCLUDED(mutex_);

  const HubOptions options_;
  HubState* const state_;
  ModelStore* const models_;
  const std::string experiment_yaml_;
  const uint64_t experiment_checksum_;
  mutable Mutex mutex_;
  WorkerTable workers_ ABSL_GUARDED_BY(mutex_);
  const absl::Time begun_;  // Of this hub, by its clock.
  std::optional<ExperimentTracker> tracker_ ABSL_GUARDED_BY(mutex_);
  RunTotals totals_ ABSL_GUARDED_BY(mutex_);
  std::optional<StepLeases> step_leases_ ABSL_GUARDED_BY(mutex_);  // Where the run has a limit on steps.
  std::optional<TurnOrder> turns_ ABSL_GUARDED_BY(mutex_);         // Where the run is in lock-step.
  std::optional<LearnerGroup> group_ ABSL_GUARDED_BY(mutex_);      // Where the run has several learners.
  bool forming_ ABSL_GUARDED_BY(mutex_) = false;                   // One is queued to be formed.
  GroupStore group_store_;
  std::optional<EnvironmentSpec> environment_ ABSL_GUARDED_BY(mutex_);
  std::deque<DatedEvaluation> evaluations_ ABSL_GUARDED_BY(mutex_);
  uint64_t evaluation_count_ ABSL_GUARDED_BY(mutex_) = 0;  // Those that evaluations_ holds no more included.
  std::string figures_unrecorded_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, absl::Time> last_evaluation_of_ ABSL_GUARDED_BY(mutex_);  // By worker.
  // Best weights that were replaced, to be freed without the lock.
  std::vector<std::shared_ptr<const StoredModel>> dropped_ ABSL_GUARDED_BY(mutex_);
  std::optional<ModelVersion> restored_version_ ABSL_GUARDED_BY(mutex_);
  bool restored_finishing_ ABSL_GUARDED_BY(mutex_) = false;  // An earlier hub's run was finishing.
  Listeners listeners_;
  int64_t news_ ABSL_GUARDED_BY(mutex_) = 0;      // Announcements so far.
  bool telling_ ABSL_GUARDED_BY(mutex_) = false;  // One is queued that will tell all of them.
  // Workers of before this hub's restart, which may join again and have not reported yet: what they had reported is not
  // to be counted twice.
  std::set<std::string> restored_ ABSL_GUARDED_BY(mutex_);
  // While nobody has published to this hub: an earlier one's learners may have, up to this epoch.
  const uint64_t earlier_epoch_;
  // Of the learner whose end failed the run; meaningless otherwise.
  uint64_t failed_epoch_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t fenced_epoch_ ABSL_GUARDED_BY(mutex_) = 0;
  bool sealed_ ABSL_GUARDED_BY(mutex_) = false;   // A run that is over stays so.
  bool unsaved_ ABSL_GUARDED_BY(mutex_) = false;  // Something that is written in its time.
  bool urgent_ ABSL_GUARDED_BY(mutex_) = false;   // Something that is written at once.
  bool saving_ ABSL_GUARDED_BY(mutex_) = false;   // A save is queued that will see what changes now.
  absl::Time last_save_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  std::string progress_unsaved_ ABSL_GUARDED_BY(mutex_);  // Why the last save failed; empty if it did not.
  // Last: their threads use everything above. Gone while the hub ends.
  std::optional<Executor> saver_;
  std::optional<Executor> teller_;
  std::optional<Executor> former_;
};

// Settles which experiment a hub has. Without a given text it is the stored one, or none (empty). A given one is
// stored; FAILED_PRECONDITION, saying what can be done, if another one is stored already.
absl::StatusOr<std::string> AdoptExperiment(const std::string& given_yaml, HubState* state);

}  // namespace waggle
