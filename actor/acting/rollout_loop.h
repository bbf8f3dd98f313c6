#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "actor/acting/policy_buffers.h"
#include "actor/acting/step_budget.h"
#include "actor/acting/weight_refresher.h"
#include "actor/environments/vector_environment.h"
#include "actor/writing/pending_rows.h"
#include "actor/writing/trajectory_writer.h"
#include "common/base/metrics/metrics.h"
#include "common/base/threads/mutex.h"
#include "common/base/threads/stop_token.h"
#include "common/base/threads/wait_clock.h"
#include "common/hub/ports/model.h"
#include "common/hub/ports/turn_taker.h"
#include "common/replay/ports/replay.h"
#include "common/rl/acting/policy.h"

namespace waggle {

struct RolloutOptions {
  // The policy acts on all ready lanes once there are this many, or all lanes if there are fewer.
  int64_t min_ready_lanes = 1;
  // AlgorithmPlan::rows_per_version. 0: newer weights are taken between blocks.
  int64_t rows_per_version = 0;
  // If no version comes for this long, the lanes act for another unroll by their present one: rows that the learner
  // waits for may have been lost.
  absl::Duration version_patience = absl::Seconds(10);
  // The lanes wait for weights of this learner step before they act.
  uint64_t first_version = 0;
  // If true, lanes wait for the version that follows from an unroll; otherwise they take the newest version and act.
  bool awaits_versions = true;
  // A block older than this is handed over although it is not full, so that slow environments' steps do not wait.
  absl::Duration max_block_age = absl::Seconds(1);
  absl::Duration report_period = absl::Milliseconds(20);  // From one update of the metrics to the next.
  absl::Duration drain_timeout = absl::Seconds(1);        // For the last rows after a stop.
};

// Acts: a policy chooses actions for the ready lanes of a vector environment, the rows are written to replay lane by
// lane, and newer weights are taken between blocks. Or all lanes act in step, and wait for newer weights after each
// unroll. A lane's number is its slot in the policy. Knows no algorithm. One thread.
class RolloutLoop {
 public:
  // All pointers are borrowed. `writer` writes to `sink`.
  struct Parts {
    Policy* policy = nullptr;
    VectorEnvironment* environments = nullptr;
    TrajectoryWriter* writer = nullptr;
    ReplayWriter* sink = nullptr;
    WeightRefresher* weights = nullptr;  // Null if the learner computes the policy.
    Metrics* metrics = nullptr;
    StepBudget* budget = nullptr;  // Null if the run has no limit on environment steps.
    // The present number of lanes of all the run's actors; called between blocks. Null: the policy's own number.
    std::function<int64_t()> all_lanes = nullptr;
    // The unrolls of each lane by one version of the weights, at least 1. Called at the end of each unroll, and now and
    // then while the loop waits for a version, because it grows if other actors are lost. Null: always 1.
    std::function<int64_t()> unrolls_per_version = nullptr;
    // Called after the loop's first step. May be null.
    std::function<void()> on_first_step = nullptr;
    // In lock-step: in each turn all lanes act in step for one block, or one unroll if rows_per_version is set, by the
    // newest weights at the turn's beginning. Null: the loop acts all the time.
    TurnTaker* turns = nullptr;
    // Called with new weights before they act. May be null.
    std::function<absl::Status(const ModelSnapshot& snapshot)> on_weights = nullptr;
    // Called between blocks: the policy may take other numbers then. May be null.
    std::function<absl::Status()> take_settings = nullptr;
  };
  RolloutLoop(const RolloutOptions& options, const Parts& parts);

  // Waits for the first weights, then acts until `stop`. Complete rows are handed over at the end, but not those of
  // lanes under way. Steps are taken while the budget allows them; the last step, in several lanes at once, may exceed
  // it by fewer steps than there are lanes. Lanes that await versions only report their steps and do not wait for the
  // budget; lanes that act unrolls without awaiting versions end an unroll before they wait. OK after a stop. Any error
  // is final: of an environment, the policy, the writer, the budget, or weights of another network.
  absl::Status Run(const StopToken& stop);

  // Environment steps since the beginning; the start of an episode does not count.
  int64_t env_steps() const { return env_steps_; }

 private:
  absl::Status WaitForWeights();
  // Waits for its turn, and takes the newest weights. The turn is over once all rows are in replay.
  absl::Status BeginTurn(const StopToken& stop);
  absl::Status EndTurn(const StopToken& stop);
  bool ActsInStep() const { return options_.rows_per_version > 0 || parts_.turns != nullptr; }
  absl::Status LoadWeights(const ModelSnapshot& snapshot);
  // Takes the newest weights without a wait.
  absl::Status TakeNewest();
  absl::Status ActUntil(const StopToken& stop);
  // Returns when the budget allows a step. Rows are handed over before a wait, as no more may follow.
  absl::Status WaitForBudget(const StopToken& stop, absl::Time now);
  // Acts in the ready lanes, and waits until some are ready again. CANCELLED after a stop.
  absl::Status StepOnce(const StopToken& stop);
  absl::StatusOr<ReadyLanes> Receive(const StopToken& stop);
  // The time of all steps of the environments so far. Any thread.
  absl::Duration environment_time() const ABSL_LOCKS_EXCLUDED(environment_mutex_);
  void CountSteps();
  void CountEpisodes();
  absl::Status FinishBlock(const StopToken& stop);
  // Ends the unroll of all lanes. After its share of unrolls the loop waits for the version that follows from them.
  absl::Status FinishUnroll(const StopToken& stop);
  absl::Status AwaitVersion();
  absl::Status Flush(const StopToken& stop);
  // Records how far the weights of the items just handed over are behind the newest.
  void CountInserted(int64_t items);
  absl::Status Drain();
  void Report(absl::Time now);

  const RolloutOptions options_;
  const Parts parts_;
  PolicyBuffers buffers_;
  PendingRows pending_;
  ReadyLanes ready_;
  int64_t env_steps_ = 0;
  ModelVersion policy_version_;
  int64_t version_rows_ = 0;              // Rows of each lane in its present unroll.
  int64_t version_unrolls_ = 0;           // Whole unrolls of each lane by this version.
  std::atomic<int64_t> loaded_at_ns_{0};  // When the weights were loaded, by SteadyElapsed(); 0: not yet.
  absl::Time block_began_;
  mutable Mutex environment_mutex_;
  WaitClock environment_clock_ ABSL_GUARDED_BY(environment_mutex_);

  // For the metrics: the values reported last, and the returns of the latest episodes.
  absl::Time reported_at_;
  int64_t reported_env_steps_ = 0;
  int64_t reported_items_ = 0;
  int64_t reported_restarts_ = 0;
  int64_t reported_broken_episodes_ = 0;
  int64_t inserted_lag_sum_ = 0;  // In learner steps, over the items since then: see CountInserted.
  int64_t new_episodes_ = 0;
  struct Return {
    double value = 0;
    bool is_over = false;  // It is among returns_.
  };
  std::vector<Return> lane_returns_;  // The return of each lane's newest episode.
  std::deque<double> returns_;
};

}  // namespace waggle
