#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/api/model.h"
#include "common/api/replay.h"
#include "common/api/turn_taker.h"
#include "common/base/stop_token.h"
#include "common/checkpoint/checkpoint_store.h"
#include "common/experiment/lock_step.h"
#include "common/experiment/sections.h"
#include "common/learning/async_publisher.h"
#include "common/learning/async_saver.h"
#include "common/learning/checkpoint_schedule.h"
#include "common/metrics/metrics.h"
#include "common/nn/torch.h"
#include "common/rl/metric_means.h"
#include "common/rl/stepper.h"
#include "common/rl/trainee.h"
#include "learner/group/group_member.h"
#include "learner/table_feed.h"

namespace waggle {

struct TrainLoopOptions {
  std::string algorithm;        // Its name, for checkpoints.
  std::string run;              // Which run it is, for checkpoints.
  std::string experiment_yaml;  // What is trained, for checkpoints.
  LearnerOptions learner;
  int64_t first_step = 0;         // Where a restored learner goes on.
  int64_t max_learner_steps = 0;  // 0: no limit.
  uint64_t epoch = 0;             // Of the weights that this learner publishes.
  torch::Device device = torch::kCPU;
  LearnerQuota quota;  // How far a turn goes, in lock-step.
  // For a batch, in a turn. What the hub has counted may have been lost with its replay server.
  absl::Duration turn_patience = absl::Seconds(10);
  // Between two looks at the metrics: reading one waits for the device.
  absl::Duration report_period = absl::Seconds(1);
  absl::Duration publish_patience = AsyncPublisherOptions().patience;  // See there.
  // That the last priorities may take, and the last weights after the end of the run.
  absl::Duration finish_timeout = absl::Seconds(5);
  // How long the last checkpoint is tried again where it cannot be written. Shorter than `waggle run` waits for a
  // process that it has asked to end.
  absl::Duration last_checkpoint_timeout = absl::Seconds(8);
};

// What the loop talks to; all of it outlives the loop.
struct TrainLoopPorts {
  // Of each table of the algorithm's plan, in their order.
  struct Table {
    ReplaySampler* sampler = nullptr;
    PriorityUpdater* priorities = nullptr;
  };
  std::vector<Table> tables;
  ModelPublisher* publisher = nullptr;
  Metrics* metrics = nullptr;
  CheckpointStore* checkpoints = nullptr;                                // Null: none are written.
  std::function<std::optional<ModelVersion>()> known_version = nullptr;  // See AsyncPublisherOptions.
  // Training has ended, and these last weights are being published. Null: nobody asks.
  std::function<void(const ModelVersion& version)> trained = nullptr;
  // How long it is tried to publish the last weights: they may have to be evaluated. Null: the run ends with training.
  const StopToken* run_over = nullptr;
  // How far the run is, but for the learner's own steps; called once an update. Null: that is all that is known.
  std::function<Progress()> progress = nullptr;
  // In lock-step: what has been written by its turn is learned from in it, and nothing else. Null: it learns all the
  // time.
  TurnTaker* turns = nullptr;
  // Of a run with several learners: the first of a group publishes, saves and reports for all, under the group's epoch.
  // Null: this learner is alone.
  GroupMember* group = nullptr;
};

// Samples of each table, updates, sends priorities back, publishes weights, writes checkpoints and reports, around a
// trainee whose algorithm it knows nothing of. One thread.
class TrainLoop {
 public:
  // `trainee` outlives the loop, and so does `stepper`.
  TrainLoop(const TrainLoopOptions& options, const TrainLoopPorts& ports, Trainee* trainee, Stepper* stepper);

  // Publishes the weights as they are, then trains. A checkpoint that cannot be written is tried again later; training
  // goes on meanwhile. Returns OK once max_learner_steps are done or after a stop, with the last weights published, the
  // last priorities sent and a last checkpoint written; weights that were published are published again where they are
  // lost, for as long as the loop lives. In a group this holds for its first learner; the others train until the stop.
  // Otherwise the error that ended training: FAILED_PRECONDITION
  // where a later learner has taken over; or the first of those that its end met, the others being logged.
  absl::Status Run(const StopToken& stop);

  // Updates so far, those before a restore included.
  int64_t step() const { return step_; }

 private:
  absl::Status Train(const StopToken& stop);
  // In one group after the other, until this learner, as the first of one, has done all steps.
  absl::Status TrainInGroups(const StopToken& stop);
  // Waits for the next group, and begins with what its members agree on.
  absl::Status Regroup(const StopToken& stop);
  bool is_first() const { return ports_.group == nullptr || ports_.group->is_first(); }
  void BeginPublishing();
  // Waits for its turn, and ends it with the weights published and the priorities applied.
  absl::Status TakeTurn(const StopToken& stop);
  // Learns from what there is by this turn. CANCELLED after a stop of `until`.
  absl::Status LearnFrom(int64_t items, const StopToken& until);
  // Stops `until` once a batch has been waited for for too long.
  void StopIfStarved(const StopToken& over, const StopToken& until) const;
  bool IsDone() const { return options_.max_learner_steps > 0 && step_ >= options_.max_learner_steps; }
  // Waits for a batch of each table, and learns from them.
  absl::Status LearnOnce(const StopToken& stop);
  absl::Status TrainStep();
  absl::Status Publish();
  // Writes a checkpoint if one is due.
  absl::Status SaveIfDue(absl::Time now);
  // Copies the state, and leaves it to saver_.
  absl::Status SaveCheckpoint();
  // Returns once it is on the device, or has failed for too long.
  absl::Status SaveLastCheckpoint();
  absl::Status Finish();
  // The last weights, which need not be published where the last checkpoint has them and the run is over.
  absl::Status FlushWeights(bool has_checkpoint);
  Progress Now() const;
  absl::Status Report();

  const TrainLoopOptions options_;
  const TrainLoopPorts ports_;
  Trainee* const trainee_;
  Stepper* const stepper_;
  std::optional<AsyncPublisher> publisher_;  // Absent where another learner publishes.
  std::unique_ptr<AsyncSaver> saver_;        // Null: no checkpoints are written.
  CheckpointSchedule checkpoints_;
  std::vector<std::unique_ptr<TableFeed>> feeds_;  // By table.

  int64_t step_ = 0;
  int64_t published_step_ = -1;
  int64_t reported_step_ = 0;
  uint64_t epoch_ = 0;                // Of what is published.
  std::atomic<bool> meeting_{false};  // The others of a group; atomic as the metrics' thread asks.

  // In lock-step.
  Progress turn_progress_;  // As the turn began.
  // Items and learner steps from which on a turn's steps are counted: not from the run's first, as an earlier learner
  // has learned from what came before, or it was lost.
  struct Counted {
    int64_t items = 0;
    int64_t steps = 0;
  };
  std::optional<Counted> counted_;  // Absent before the first turn.
  absl::Time last_report_;

  // Since the last report.
  MetricMeans algorithm_metrics_;
};

}  // namespace waggle
