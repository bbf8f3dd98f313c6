#include "common/hub/ports/turn_taker.h"

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace waggle {

absl::StatusOr<Assignment> TurnTaker::Await(const StopToken& stop) {
  const auto has_news = [this](const Assignment& assignment) {
    const std::optional<Turn>& turn = assignment.turn;
    return IsTrainingOver(assignment.run_state) ||
           (turn.has_value() && turn->role == role_ && turn->index.value_or(assignment.index) == assignment.index &&
            turn->number > done_);
  };
  {
    MutexLock lock(&mutex_);
    waits_.Begin();
  }
  absl::StatusOr<Assignment> assignment = hub_->WaitUntil(has_news, stop);
  {
    MutexLock lock(&mutex_);
    waits_.End();
  }
  WAGGLE_RETURN_IF_ERROR(assignment.status());
  if (IsTrainingOver(assignment->run_state)) {
    hub_->training_over().Wait();  // It may stop only after the assignment came. The caller sees the reason there.
    return absl::CancelledError("the training is over, and there are no more turns");
  }
  if (assignment->turn->since_cut > since_cut_) {
    return absl::AbortedError(
        absl::StrCat("this worker begins anew, as cut ", assignment->turn->since_cut, " is made"));
  }
  done_ = assignment->turn->number;
  return assignment;
}

TurnTaker::Stats TurnTaker::stats() const {
  MutexLock lock(&mutex_);
  return {waits_.total(), waits_.waiting()};
}

}  // namespace waggle
