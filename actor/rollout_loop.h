#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "actor/pending_rows.h"
#include "actor/policy_buffers.h"
#include "actor/step_budget.h"
#include "actor/trajectory_writer.h"
#include "actor/vector_environment.h"
#include "actor/weight_refresher.h"
#include "common/api/model.h"
#include "common/api/replay.h"
#include "common/api/turn_taker.h"
#include "common/base/stop_token.h"
#include "common/metrics/metrics.h"
#include "common/rl/policy.h"

namespace waggle {

struct RolloutOptions {
  // The policy acts once so many lanes are ready, on all that are; all lanes if there are fewer.
  int64_t min_ready_lanes = 1;
  // AlgorithmPlan::rows_per_version. 0: none; newer weights are taken between blocks.
  int64_t rows_per_version = 0;
  // Where no version has come for so long, the lanes act for another unroll by the one that they have: what the learner
  // waits for may have been lost on its way.
  absl::Duration version_patience = absl::Seconds(10);
  // Whether lanes wait for the version that follows from an unroll; otherwise they take what there is and act on.
  bool awaits_versions = true;
  // A block that has been gathering for longer is handed over although it is not full: slow environments' steps must
  // not wait for long.
  absl::Duration max_block_age = absl::Seconds(1);
  absl::Duration report_period = absl::Milliseconds(20);  // From one update of the metrics to the next.
  absl::Duration drain_timeout = absl::Seconds(1);        // For the last rows to find room after a stop.
};

// Acts: a policy chooses actions for whichever lanes of a vector of environments are ready, what comes of it is written
// to replay lane by lane, and newer weights are taken between blocks; or all lanes act in step, and wait for newer
// weights after each unroll. A lane's number is its slot in the policy. Knows no algorithm. One thread.
class RolloutLoop {
 public:
  // Everything is borrowed. `sink` is what `writer` writes to.
  struct Parts {
    Policy* policy = nullptr;
    VectorEnvironment* environments = nullptr;
    TrajectoryWriter* writer = nullptr;
    ReplayWriter* sink = nullptr;
    WeightRefresher* weights =
        nullptr;  // Null where the policy is computed elsewhere, by weights that do not come here.
    Metrics* metrics = nullptr;
    StepBudget* budget = nullptr;  // Null where the run has no limit on environment steps.
    // How many lanes all actors of the run have by now; asked between blocks. Null: as many as the policy was made for.
    std::function<int64_t()> all_lanes = nullptr;
    // The loop calls it after its first step. May be null.
    std::function<void()> on_first_step = nullptr;
    // In lock-step: lanes act for one block, or one unroll where these have versions, in each turn, all in step, and by
    // the weights that are the newest as it begins. Null: the loop acts all the time.
    TurnTaker* turns = nullptr;
    // Told of the weights that act, before they do. Null: nobody else is.
    std::function<absl::Status(const ModelSnapshot& snapshot)> on_weights = nullptr;
  };
  RolloutLoop(const RolloutOptions& options, const Parts& parts);

  // Waits for the first weights, then acts until `stop`; what was gathered by then is handed over, but not the rows of
  // lanes that are under way. It takes steps while its budget allows them: the last one, in several lanes at once, may
  // pass it by fewer than there are lanes. Lanes that wait for versions only report what they take, and act on; those
  // that act unrolls and await no versions end one before they wait. OK after a stop. Any error is final: of an
  // environment, the policy, the writer, the budget, or weights of another network.
  absl::Status Run(const StopToken& stop);

  // Steps taken in environments since the beginning; starting an episode is none.
  int64_t env_steps() const { return env_steps_; }

 private:
  absl::Status WaitForWeights();
  // Waits until its turn, and takes the weights of that moment. Once what was written is in replay, the turn is over.
  absl::Status BeginTurn(const StopToken& stop);
  absl::Status EndTurn(const StopToken& stop);
  bool ActsInStep() const { return options_.rows_per_version > 0 || parts_.turns != nullptr; }
  absl::Status LoadWeights(const ModelSnapshot& snapshot);
  // Without a wait.
  absl::Status TakeNewest();
  absl::Status ActUntil(const StopToken& stop);
  // Returns when the budget allows a step. Rows are handed over before a wait, as it may be the last.
  absl::Status WaitForBudget(const StopToken& stop, absl::Time now);
  // Acts in the lanes that are ready, and waits until some are again. CANCELLED after a stop.
  absl::Status StepOnce(const StopToken& stop);
  absl::StatusOr<ReadyLanes> Receive(const StopToken& stop);
  void CountSteps();
  void CountEpisodes();
  absl::Status FinishBlock(const StopToken& stop);
  // Ends the unroll of all lanes, and waits for the version that follows from it.
  absl::Status FinishUnroll(const StopToken& stop);
  absl::Status Flush(const StopToken& stop);
  // Takes note of how far behind the newest weights those were that acted the items that were just handed over.
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
  int64_t version_rows_ = 0;  // Of each lane, by this version.
  absl::Time block_began_;

  // For the metrics. What was reported last, and the returns of the latest episodes.
  absl::Time reported_at_;
  int64_t reported_env_steps_ = 0;
  int64_t reported_items_ = 0;
  int64_t reported_restarts_ = 0;
  int64_t reported_broken_episodes_ = 0;
  int64_t inserted_lag_sum_ = 0;  // Over the items since then, of learner steps: see CountInserted.
  int64_t new_episodes_ = 0;
  struct Return {
    double value = 0;
    bool is_over = false;  // It is among returns_.
  };
  std::vector<Return> lane_returns_;  // The return of each lane's newest episode.
  std::deque<double> returns_;
};

}  // namespace waggle
