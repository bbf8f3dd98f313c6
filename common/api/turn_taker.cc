#include "common/api/turn_taker.h"

#include "common/base/status_macros.h"

namespace waggle {
namespace {

constexpr absl::Duration kFlushTimeout = absl::Seconds(1);  // Before a stop is looked for again.

}  // namespace

absl::StatusOr<Assignment> TurnTaker::Await(const StopToken& stop) {
  const auto has_news = [this](const Assignment& assignment) {
    const std::optional<Turn>& turn = assignment.turn;
    return IsTrainingOver(assignment.run_state) || (turn.has_value() && turn->role == role_ && turn->number > done_);
  };
  WAGGLE_ASSIGN_OR_RETURN(Assignment assignment, hub_->WaitUntil(has_news, stop));
  if (IsTrainingOver(assignment.run_state)) {
    hub_->training_over().Wait();  // Which follows at once: whoever looks at it next is to see why this ended.
    return absl::CancelledError("the training is over, and nobody has a turn any more");
  }
  done_ = assignment.turn->number;
  return assignment;
}

absl::Status FlushUntilStopped(const std::function<absl::Status(absl::Duration timeout)>& flush,
                               const StopToken& stop) {
  absl::Status status;
  do {
    status = stop.StopRequested() ? absl::CancelledError("stopped before all had arrived") : flush(kFlushTimeout);
  } while (absl::IsDeadlineExceeded(status));
  return status;
}

}  // namespace waggle
