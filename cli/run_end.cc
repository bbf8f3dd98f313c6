#include "cli/run_end.h"

#include "absl/strings/str_cat.h"

namespace waggle {

RunEnd JudgeEnd(Outcome outcome, const std::string& reason, const std::optional<ChildExit>& learner,
                HubKeptWeights hub_kept) {
  RunEnd end = {outcome, reason, ""};
  // A run that had failed before says why; its learner may never have begun.
  if (!learner.has_value() || learner->ok() || outcome == Outcome::kFailed) {
    return end;
  }
  end.note =
      absl::StrCat("the learner ", learner->DebugString(), " without its last checkpoint, and the parameter server ",
                   !hub_kept.has_value() ? "did not say that it has kept the weights"
                   : *hub_kept           ? "has kept the weights"
                                         : "has not kept the weights either");
  if (!hub_kept.value_or(false) && outcome != Outcome::kInterrupted) {
    end.outcome = Outcome::kFailed;
    end.reason = absl::StrCat("the last weights are lost: ", end.note, "; before that: ", OutcomeName(outcome),
                              reason.empty() ? "" : ": ", reason);
  }
  return end;
}

}  // namespace waggle
