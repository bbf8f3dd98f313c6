#pragma once

#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "actor/evaluator.h"
#include "common/api/hub.h"
#include "common/api/model.h"
#include "common/base/backoff.h"
#include "common/base/stop_token.h"
#include "common/metrics/metrics.h"
#include "common/rl/policy.h"

namespace waggle {

// Evaluates the newest weights time and again, each version at most once, and reports to the hub. One thread.
class EvaluationLoop {
 public:
  // Everything is borrowed; `policy` is the evaluator's.
  struct Parts {
    Evaluator* evaluator = nullptr;
    Policy* policy = nullptr;
    ModelSubscriber* subscriber = nullptr;
    HubLink* hub = nullptr;
    Metrics* metrics = nullptr;
  };
  // `period`: from the start of one evaluation to the start of the next. `backoff`: how long to leave a server alone
  // that is away.
  EvaluationLoop(absl::Duration period, const Backoff& backoff, const Parts& parts);

  // Until `stop`, after which it returns OK. Any error but that the weights' server is away is final.
  absl::Status Run(const StopToken& stop);

 private:
  // Nothing where the wait ended without weights. Outlasts a server that is away.
  absl::StatusOr<std::optional<ModelSnapshot>> WaitForWeights(const StopToken& stop);
  absl::Status EvaluateOne(const ModelSnapshot& snapshot, const StopToken& stop);

  const absl::Duration period_;
  Backoff backoff_;
  const Parts parts_;
  std::optional<ModelVersion> evaluated_;
};

}  // namespace waggle
