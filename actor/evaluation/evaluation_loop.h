#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "actor/evaluation/evaluator.h"
#include "common/base/backoff.h"
#include "common/base/metrics/metrics.h"
#include "common/base/threads/stop_token.h"
#include "common/hub/ports/hub.h"
#include "common/hub/ports/model.h"
#include "common/hub/ports/turn_taker.h"
#include "common/rl/acting/policy.h"

namespace waggle {

struct EvaluationLoopOptions {
  int64_t episodes = 1;          // In an evaluation.
  int64_t confirm_episodes = 1;  // In the second evaluation of the same weights.
  // Between the starts of two evaluations during training.
  absl::Duration period = absl::ZeroDuration();
  // During training only weights of the next multiple of so many learner steps, or newer ones, are evaluated; 0: any.
  int64_t period_steps = 0;
  // Weights that reach this return are evaluated a second time: the run is solved only if they reach it again.
  std::optional<double> target_return;
};

// Evaluates the newest weights repeatedly, each version once unless it reaches the target, and reports to the hub. One
// thread.
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
  // `backoff`: pauses between attempts to reach a server that is away.
  EvaluationLoop(const EvaluationLoopOptions& options, const Backoff& backoff, const Parts& parts);

  // Evaluates until `stop`, then returns OK. Any error is final, unless the weights' server is away.
  absl::Status Run(const StopToken& stop);

 private:
  // Runs one evaluation in each turn, until there are no more turns.
  absl::Status RunInTurns(const StopToken& stop);
  absl::Status EvaluateIfAny(const absl::StatusOr<std::optional<ModelSnapshot>>& weights, const StopToken& stop);
  // Waits until there are weights newer than those evaluated, and during training until they may be due.
  absl::Status AwaitWeights(const StopToken& stop);
  bool IsDue(const ModelVersion& version) const;
  // Pulls weights newer than those evaluated, waiting for them if `wait`; nullopt if there are none. Retries while the
  // server is away.
  absl::StatusOr<std::optional<ModelSnapshot>> PullWeights(bool wait, const StopToken& stop);
  absl::Status EvaluateOne(const ModelSnapshot& snapshot, const StopToken& stop);
  // Evaluates the weights that the policy has. Returns whether they reached the target.
  absl::StatusOr<bool> EvaluateOnce(const ModelSnapshot& snapshot, int64_t episodes, const StopToken& stop);

  const EvaluationLoopOptions options_;
  Backoff backoff_;
  const Parts parts_;
  std::optional<ModelVersion> evaluated_;
  std::optional<ModelVersion> seen_;  // The newest pulled weights, which may not have been due.
  uint64_t due_ = 0;                  // The least learner step of the next evaluated weights, during training.
};

}  // namespace waggle
