#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/hub/ports/hub.h"
#include "param_server/run/cut_course.h"
#include "param_server/run/cut_folder.h"
#include "param_server/run/evaluation_log.h"
#include "param_server/run/experiment_tracker.h"
#include "param_server/run/hub_state.h"
#include "param_server/run/learner_group.h"
#include "param_server/run/listeners.h"
#include "param_server/run/progress_saver.h"
#include "param_server/run/run_report.h"
#include "param_server/run/run_totals.h"
#include "param_server/run/run_weights.h"
#include "param_server/run/step_leases.h"
#include "param_server/run/turn_order.h"
#include "param_server/run/worker_table.h"

namespace waggle {

// The state and progress of a run, its evaluations, and the steps, turns and groups of its workers. A change of the
// state is noted, urgently saved and announced. Not thread-safe: the hub's lock guards it. No call blocks.
class RunCourse {
 public:
  // The pointers outlive this. `note` is not null. In a restored run, a finishing state and the first learner group
  // wait up to `gather_time` for workers to join again.
  struct Parts {
    RunWeights* weights = nullptr;
    ProgressSaver* saver = nullptr;
    Announcer* announcer = nullptr;
    std::function<void(const std::string& text)> note;
    absl::Duration gather_time;
    bool resumed = false;  // See HubOptions, as the next ones.
    std::vector<uint64_t> cuts = {};
    std::optional<Restoration> restoration = {};
    TurnState turns = {};
  };
  // Goes on, from now, with the record of an earlier hub.
  RunCourse(RunPlan plan, HubRecord record, Parts parts, absl::Time now);

  // `report` was checked. `worker`: its sender, in `workers`.
  void TakeReport(const WorkerReport& report, const WorkerView& worker, const WorkerTable& workers, absl::Time now);
  // An actor's environment steps in all its life.
  void ReportEnvSteps(const std::string& worker_id, double steps, absl::Time now);
  // As Hub::TakeSteps, for a seated actor.
  absl::StatusOr<int64_t> TakeSteps(const std::string& worker_id, const StepRequest& request,
                                    const WorkerTable& workers, absl::Time now);
  // A learner of this epoch has joined. Returns true if a run that had failed goes on with it.
  bool ReopenFor(uint64_t epoch, absl::Time now);
  // Counts the time, checks the limits, and ends a finishing run if it is due.
  void Settle(const WorkerTable& workers, absl::Time now);
  // Ends the run, if it is not over, and seals it.
  void End(RunState state, const std::string& reason);
  // A run that is over cannot be reopened any more.
  void Seal() { sealed_ = sealed_ || IsOver(state()); }
  void Forget(const std::string& worker_id);

  // Absent if the run is not in lock-step.
  std::optional<Turn> turn(const WorkerTable& workers) const;
  // A worker of this role has done the turn of this number. Workers repeat this report.
  void EndTurn(Role role, uint64_t number);

  // Begins a cut and returns its number. Errors as CutCourse::CheckNext; FAILED_PRECONDITION if training is over.
  absl::StatusOr<uint64_t> BeginCut(absl::Time now);
  // Outside of lock-step: the number of a cut of which the hub's part is missing; 0: none. A number comes once.
  uint64_t TakeMadeCut();
  // The facts of the cut that is being made, and in lock-step the turns of a run that goes back to it.
  CutFacts PresentCut(absl::Time wall) const;
  std::optional<TurnState> TurnsAfterCut() const;
  void CutSaved(uint64_t number, const absl::Status& status);
  const CutCourse& cuts() const { return cuts_; }

  // True once if another group of learners must be formed. FormGroup must follow.
  bool TakeGroupDue(const WorkerTable& workers, absl::Time now);
  // `epoch`: of the new group; 0 if it could not be taken, so that no group is formed for now.
  void FormGroup(uint64_t epoch, WorkerTable* workers);

  // The replay server of this index has joined with the tables of the run. It need not go back to a cut any more: if it
  // loses its disk later, it goes on without its items, as in a run that never went back.
  void NoteReturned(int64_t index) { returned_.insert(index); }
  // True once, if all replay servers of a run that went back to a cut have joined.
  bool TakeAllReturned();

  // Fills the record for a save. Forgets workers that left without a goodbye.
  void Fill(const WorkerTable& workers, absl::Time now, HubRecord* record);
  // Fills in the worker's part of the run, and the run's state.
  void Describe(const WorkerView& worker, const WorkerTable& workers, Assignment* assignment) const;
  // Fills in all but the experiment, the workers, their environment, and the errors of saves.
  void Describe(const WorkerTable& workers, HubOverview* overview) const;
  RunStanding Standing() const;

  const RunPlan& plan() const { return tracker_.plan(); }
  const RunProgress& progress() const { return tracker_.progress(); }
  RunState state() const { return tracker_.state(); }
  uint64_t env_steps() const { return tracker_.env_steps(); }
  uint64_t learner_steps() const { return tracker_.learner_steps(); }

 private:
  void TakeEvaluation(const Evaluation& evaluation);
  // Fails the run unless another learner can go on.
  void TakeLearnerFailure(const WorkerView& learner, const WorkerTable& workers);
  bool HasFinalWeights() const;
  // Learners that can join a group, in the order of their indices.
  static std::vector<std::string> Groupable(const WorkerTable& workers);
  // Steps that the present learner must repeat.
  uint64_t StepsAgain(const WorkerTable& workers) const;
  void AnnounceState();
  void TakeCutReport(const CutReport& report, absl::Time now);

  const Parts parts_;
  const absl::Time begun_;  // Start of this hub.
  ExperimentTracker tracker_;
  RunTotals totals_;
  EvaluationLog evaluations_;
  std::optional<StepLeases> step_leases_;  // If the run has a limit on steps.
  std::optional<TurnOrder> turns_;         // If the run is in lock-step.
  CutCourse cuts_;
  CutReport made_cut_;                 // The newest that the learner has made.
  bool cut_taken_ = false;             // TakeMadeCut has given made_cut_.
  std::optional<LearnerGroup> group_;  // If the run has several learners.
  // Workers of an earlier hub that may join again and have not reported yet. Their counters must not be added twice.
  std::set<std::string> restored_;
  std::set<int64_t> returned_;     // See NoteReturned.
  bool return_ended_ = false;      // TakeAllReturned has been true.
  bool learner_heard_ = false;     // A learner has reported to this hub.
  const bool restored_finishing_;  // The run of an earlier hub was finishing.
  uint64_t failed_epoch_;          // Learners up to this one cannot reopen the run.
  bool sealed_ = false;
  RunState told_;    // The state that was announced last.
  bool told_begin_;  // True once the start of the run's time was noted for a save.
};

}  // namespace waggle
