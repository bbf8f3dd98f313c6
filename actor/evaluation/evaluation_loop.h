#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "actor/evaluation/evaluator.h"
#include "common/api/hub.h"
#include "common/api/model.h"
#include "common/api/turn_taker.h"
#include "common/base/backoff.h"
#include "common/base/stop_token.h"
#include "common/metrics/metrics.h"
#include "common/rl/policy.h"

namespace waggle {

struct EvaluationLoopOptions {
  int64_t episodes = 1;          // Of an evaluation.
  int64_t confirm_episodes = 1;  // Of the second one of the same weights.
  // From the start of one evaluation to the start of the next, while there is training.
  absl::Duration period = absl::ZeroDuration();
  // Weights that reach this are evaluated a second time, as the run is solved only if they reach it again.
  std::optional<double> target_return;
};

// Evaluates the newest weights time and again, each version once unless it reaches the target, and reports to the hub.
// One thread.
class EvaluationLoop {
 public:
  // Everything is borrowed; `policy` is the evaluator's.
  struct Parts {
    Evaluator* evaluator = nullptr;
    Policy* policy = nullptr;
    ModelSubscriber* subscriber = nullptr;
    HubLink* hub = nullptr;
    Metrics* metrics = nullptr;
    // In lock-step: one evaluation in each turn, until training is over. Null: not in lock-step.
    TurnTaker* turns = nullptr;
  };
  // `backoff`: how long to leave a server alone that is away.
  EvaluationLoop(const EvaluationLoopOptions& options, const Backoff& backoff, const Parts& parts);

  // Until `stop`, after which it returns OK. Any error but that the weights' server is away is final.
  absl::Status Run(const StopToken& stop);

 private:
  // One evaluation in each turn, until there are none any more.
  absl::Status RunInTurns(const StopToken& stop);
  absl::Status EvaluateIfAny(const absl::StatusOr<std::optional<ModelSnapshot>>& weights, const StopToken& stop);
  // Newer ones than were evaluated, which are waited for or not: nothing where there are none. Outlasts a server that
  // is away.
  absl::StatusOr<std::optional<ModelSnapshot>> PullWeights(bool wait, const StopToken& stop);
  absl::Status EvaluateOne(const ModelSnapshot& snapshot, const StopToken& stop);
  // Evaluates the weights that the policy has. Returns whether they reached the target.
  absl::StatusOr<bool> EvaluateOnce(const ModelSnapshot& snapshot, int64_t episodes, const StopToken& stop);

  const EvaluationLoopOptions options_;
  Backoff backoff_;
  const Parts parts_;
  std::optional<ModelVersion> evaluated_;
};

}  // namespace waggle
