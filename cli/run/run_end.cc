#include "cli/run/run_end.h"

#include "absl/strings/str_cat.h"

namespace waggle {
namespace {

// True if the parameter server has the newest and the best weights; absent if it is not known.
std::optional<bool> HubKept(const KeptWeights& weights) {
  // A hub that ends by itself tries a last time to write its weights; a killed one does not.
  return weights.hub.has_value() && weights.hub->signal == 0 ? weights.hub->ok() : weights.hub_said_kept;
}

}  // namespace

RunEnd JudgeEnd(Outcome outcome, const std::string& reason, const KeptWeights& weights) {
  RunEnd end = {outcome, reason, ""};
  // A run that failed gives its own reason; its learner may never have begun.
  if (!weights.learner.has_value() || outcome == Outcome::kFailed) {
    return end;
  }
  const std::optional<bool> hub_kept = HubKept(weights);
  const bool kept = hub_kept.value_or(false);
  std::string lost = "last";
  std::string what;
  if (!weights.learner->ok()) {
    what = absl::StrCat("the learner ", weights.learner->DebugString(), " without its last checkpoint");
  } else if (!kept && weights.failed_learner.has_value() && !weights.learner_kept_best) {
    what = absl::StrCat("the learner ", weights.failed_learner->DebugString(),
                        ", the one after it need not have written a checkpoint");
  } else if (!kept && weights.has_best && !weights.learner_kept_best && !weights.hub_kept_best) {
    lost = "best";
    what = "the best weights are not in the run's folder";
  } else {
    return end;
  }
  end.note = absl::StrCat(what, ", and the parameter server ",
                          !hub_kept.has_value() ? "did not report that it has kept the weights"
                          : kept                ? "has kept the weights"
                                                : "has not kept the weights either");
  if (!kept && outcome != Outcome::kInterrupted && outcome != Outcome::kStopped) {
    end.outcome = Outcome::kFailed;
    end.reason = absl::StrCat("the ", lost, " weights are lost: ", end.note, "; before that: ", OutcomeName(outcome),
                              reason.empty() ? "" : ": ", reason);
  }
  return end;
}

}  // namespace waggle
