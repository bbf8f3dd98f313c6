#pragma once

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/api/hub.h"
#include "common/base/stop_token.h"

namespace waggle {

// A worker's part in a run in lock-step (experiment.deterministic). The hub gives the turns: the learner publishes its
// first weights; then the actor acts a block, the learner learns from what was written, and at times figures are
// recorded and weights evaluated, each alone. One thread.
class TurnTaker {
 public:
  // The link outlives it.
  TurnTaker(HubLink* hub, Role role) : hub_(hub), role_(role) {}

  // Waits for this worker's next turn, and returns what the hub said as it began. CANCELLED after a stop, or once
  // nobody is to act or train any more; other errors as of HubLink::WaitUntil.
  absl::StatusOr<Assignment> Await(const StopToken& stop);

  // Ends the turn that Await returned with.
  void End() { hub_->ReportTurnDone(done_); }

 private:
  HubLink* const hub_;
  const Role role_;
  uint64_t done_ = 0;  // Of the last turn.
};

// Has what a turn has done arrive before it ends, however long a server is away: calls `flush` with a timeout again and
// again while that is DEADLINE_EXCEEDED. CANCELLED after a stop.
absl::Status FlushUntilStopped(const std::function<absl::Status(absl::Duration timeout)>& flush, const StopToken& stop);

}  // namespace waggle
