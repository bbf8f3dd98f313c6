#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/metrics/metrics.h"
#include "common/base/threads/stop_token.h"
#include "common/config/experiment/lock_step.h"
#include "common/config/experiment/sections.h"
#include "common/hub/ports/model.h"
#include "common/hub/ports/turn_taker.h"
#include "common/nn/torch.h"
#include "common/replay/ports/replay.h"
#include "common/rl/checkpoint/checkpoint_store.h"
#include "common/rl/kit/stepper.h"
#include "common/rl/publishing/async_publisher.h"
#include "common/rl/publishing/async_saver.h"
#include "common/rl/publishing/checkpoint_schedule.h"
#include "common/rl/training/metric_means.h"
#include "common/rl/training/trainee.h"
#include "learner/cut_maker.h"
#include "learner/group/group_member.h"
#include "learner/peer_weights.h"
#include "learner/table_feed.h"

namespace waggle {

struct TrainLoopOptions {
  std::string algorithm;        // The algorithm's name, for checkpoints.
  std::string run;              // The run's name, for checkpoints.
  std::string experiment_yaml;  // The experiment, for checkpoints.
  LearnerOptions learner;
  int64_t first_step = 0;         // The step at which a restored learner continues.
  int64_t max_learner_steps = 0;  // 0: no limit.
  uint64_t epoch = 0;             // The epoch of the weights that this learner publishes.
  torch::Device device = torch::kCPU;
  LearnerQuota quota;  // The length of a turn, in lock-step.
  // In lock-step, a turn's steps are counted from these items and learner steps. They are not the run's first: an
  // earlier learner has learned from the items before, or they were lost. Absent: from those of the first turn.
  struct Counted {
    int64_t items = 0;
    int64_t steps = 0;
  };
  std::optional<Counted> counted;
  int64_t reported_steps = 0;  // Steps that the metrics have already, from an earlier loop of this process.
  // The longest wait for a batch in a turn. Items that the hub has counted may have been lost with their replay server.
  absl::Duration turn_patience = absl::Seconds(10);
  // The time between two reports: reading a metric waits for the device.
  absl::Duration report_period = absl::Seconds(1);
  absl::Duration publish_patience = AsyncPublisherOptions().patience;  // See AsyncPublisherOptions.
  // The time to send the last priorities, and the last weights after the end of the run.
  absl::Duration finish_timeout = absl::Seconds(5);
  // How long the loop tries to write the last checkpoint. Shorter than the time after which `waggle run` kills a
  // process.
  absl::Duration last_checkpoint_timeout = absl::Seconds(8);
};

// The loop's connections; all of them must outlive the loop.
struct TrainLoopPorts {
  // One for each table of the algorithm's plan, in the plan's order.
  struct Table {
    ReplaySampler* sampler = nullptr;
    PriorityUpdater* priorities = nullptr;
    int64_t every = 1;  // TablePlan's.
    int64_t parts = 1;  // TablePlan's.
  };
  std::vector<Table> tables;
  ModelPublisher* publisher = nullptr;
  Metrics* metrics = nullptr;
  CheckpointStore* checkpoints = nullptr;                                // Null: none are written.
  std::function<std::optional<ModelVersion>()> known_version = nullptr;  // See AsyncPublisherOptions.
  // Called when training has ended and these last weights are being published. May be null.
  std::function<void(const ModelVersion& version)> trained = nullptr;
  // Publishing the last weights is tried until this stop: they may have to be evaluated. Null: the run ends with
  // training.
  const StopToken* run_over = nullptr;
  // The run's progress without the learner's own steps; called once an update. Null: only those are known.
  std::function<Progress()> progress = nullptr;
  // In lock-step a turn learns from the items written before it, and from no others. Null: no lock-step.
  TurnTaker* turns = nullptr;
  // For a run with several learners: the first of a group publishes, saves and reports for all, under the group's
  // epoch. Null: this is the only learner.
  GroupMember* group = nullptr;
  // Evaluation::mean_rewards of the newest evaluation; called once an update. Null: the plan does not read them.
  std::function<std::vector<double>()> evaluated_rewards = nullptr;
  // The experiment's settings; called once an update. Null: there are none.
  std::function<std::string()> settings = nullptr;
  CutMaker* cuts = nullptr;  // Null: the run can have no cuts.
  // Weights of other members of a population, looked for after each update. Null: there is no population.
  PeerWeights* peers = nullptr;
};

// Samples from each table, updates, sends priorities back, publishes weights, writes checkpoints and reports, for a
// trainee with any algorithm. One thread.
class TrainLoop {
 public:
  // `trainee` and `stepper` must outlive the loop.
  TrainLoop(const TrainLoopOptions& options, const TrainLoopPorts& ports, Trainee* trainee, Stepper* stepper);

  // Publishes the current weights, then trains. Training goes on if a checkpoint cannot be written; it is tried again
  // later. Returns OK once max_learner_steps are done or after a stop, with the last weights published, the last
  // priorities sent and a last checkpoint written. Published weights that are lost are published again as long as the
  // loop lives. In a group this holds for its first learner; the others train until the stop. Otherwise returns the
  // error that ended training: ABORTED if the learner must begin anew from a cut, in lock-step; FAILED_PRECONDITION if
  // a later learner has taken over; or the first error at its end, others being logged.
  absl::Status Run(const StopToken& stop);

  // Updates so far, those before a restore included.
  int64_t step() const { return step_; }
  // In lock-step: the cut from which this learner must begin anew; 0: none.
  uint64_t made_cut() const { return made_cut_; }

 private:
  absl::Status Train(const StopToken& stop);
  // Trains in one group after the other, until this learner, as the first of a group, has done all steps.
  absl::Status TrainInGroups(const StopToken& stop);
  // Waits for the next group, and begins with its agreed state.
  absl::Status Regroup(const StopToken& stop);
  bool is_first() const { return ports_.group == nullptr || ports_.group->is_first(); }
  // This learner's end of steps from pushed gradients, or null.
  PushedSteps* pushed() const { return ports_.group != nullptr ? ports_.group->pushed() : nullptr; }
  // Calls `use` while the trainee has the newest parameters and nothing steps them.
  absl::Status WithNewest(absl::FunctionRef<absl::Status()> use);
  void BeginPublishing();
  // Waits for its turn. Ends it with the weights published and the priorities applied.
  absl::Status TakeTurn(const StopToken& stop);
  // Learns from the items that this turn has. CANCELLED after a stop of `until`.
  absl::Status LearnFrom(int64_t items, const StopToken& until);
  // Stops `until` if a batch takes too long.
  void StopIfStarved(const StopToken& over, const StopToken& until) const;
  bool IsDone() const { return options_.max_learner_steps > 0 && step_ >= options_.max_learner_steps; }
  // Waits for a batch of each table that the next update draws, and learns from them.
  absl::Status LearnOnce(const StopToken& stop);
  absl::Status TrainStep(const StopToken& stop);
  // True if the next update draws this table.
  bool IsDrawn(size_t table) const { return step_ % ports_.tables[table].every == 0; }
  // The progress of the next update, before which new settings are taken.
  absl::StatusOr<Progress> BeginStep();
  absl::Status Publish();
  // Writes a checkpoint if one is due.
  absl::Status SaveIfDue(absl::Time now);
  // Copies the state for saver_ to write.
  absl::Status SaveCheckpoint();
  absl::StatusOr<CheckpointContents> Capture();
  // Makes a cut between two steps. A cut that fails is reported to the hub and is no error. Errors are those of sending
  // priorities.
  absl::Status MakeCut(uint64_t cut, const StopToken& stop);
  // The same in a turn. ABORTED once the cut is made, as all begin anew from it.
  absl::Status MakeCutInTurn(uint64_t cut, const StopToken& stop);
  // Returns once the checkpoint is on the device, or has failed for too long.
  absl::Status SaveLastCheckpoint();
  absl::Status Finish();
  Progress Now() const;
  absl::Status Report();

  const TrainLoopOptions options_;
  const TrainLoopPorts ports_;
  Trainee* const trainee_;
  Stepper* const stepper_;
  std::optional<AsyncPublisher> publisher_;  // Absent if another learner publishes.
  std::unique_ptr<AsyncSaver> saver_;        // Null: no checkpoints are written.
  CheckpointSchedule checkpoints_;
  std::vector<std::unique_ptr<TableFeed>> feeds_;  // By table.

  std::string settings_;         // The trainee's.
  std::string experiment_yaml_;  // With these settings.
  int64_t step_ = 0;
  int64_t published_step_ = -1;
  int64_t reported_step_ = 0;
  uint64_t epoch_ = 0;                // The epoch of the published weights.
  std::atomic<bool> meeting_{false};  // Waits for other members of a group. Atomic, as the metrics' thread reads it.

  // In lock-step.
  uint64_t made_cut_ = 0;
  Progress turn_progress_;                            // At the beginning of the turn.
  std::optional<TrainLoopOptions::Counted> counted_;  // See TrainLoopOptions; absent before the first turn.
  absl::Time last_report_;

  // The time of the steps since the last report, by phase.
  struct Phases {
    int64_t steps = 0;
    absl::Duration sampling;  // Waiting for batches.
    absl::Duration updating;
    absl::Duration publishing;
    absl::Duration saving;  // Copying the state of checkpoints.
  };
  Phases phases_;
  // Since the last report.
  MetricMeans algorithm_metrics_;
};

}  // namespace waggle
