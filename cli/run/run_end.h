#pragma once

#include <optional>
#include <string>

#include "cli/run/supervision.h"
#include "common/base/process/child_process.h"

namespace waggle {

// The facts about a run's weights, once every process has ended. A learner that trained until the run's end and ended
// without an error has written its last checkpoint. A learner that restarted may have met the run's end before it
// trained.
struct KeptWeights {
  std::optional<ChildExit> learner;         // How it ended the last time; absent if it has not ended.
  std::optional<ChildExit> failed_learner;  // The last failed end of a learner.
  std::optional<ChildExit> hub;             // The parameter server's end: an error if it could not keep the weights.
  std::optional<bool> hub_said_kept;        // Its last report while it ran; absent if there was none.
  bool has_best = false;                    // The run has a result: an evaluation of its best weights.
  // True if the run's folder has these weights, from a learner that trained until the end, or from the hub.
  bool learner_kept_best = false;
  bool hub_kept_best = false;
};

// The end of a run, once every process has ended.
struct RunEnd {
  Outcome outcome = Outcome::kFailed;
  std::string reason;
  std::string note;  // In words, the state of the weights if some are not where they should be; else empty.
};

// A run has failed, whatever it reached, unless its last weights and its best ones are known to be kept.
RunEnd JudgeEnd(Outcome outcome, const std::string& reason, const KeptWeights& weights);

}  // namespace waggle
