#pragma once

#include <optional>
#include <string>

#include "cli/run/supervision.h"
#include "common/process/child_process.h"

namespace waggle {

// What is known of a run's weights, once every process has ended. A learner that trained until the run's end and ended
// without an error has written its last checkpoint; one that was started again may have met the end before it trained.
struct KeptWeights {
  std::optional<ChildExit> learner;         // How it ended the last time, if it did.
  std::optional<ChildExit> failed_learner;  // How one ended that did not end well, the last such.
  std::optional<ChildExit> hub;             // The parameter server, which ends with an error where it cannot keep them.
  std::optional<bool> hub_said_kept;        // Its last word while it ran; absent: it did not say.
  bool has_best = false;                    // The run has a result: an evaluation of its best weights.
  // Whether the run's folder has these, as written by a learner that had trained until the end, or by the hub.
  bool learner_kept_best = false;
  bool hub_kept_best = false;
};

// How a run ends, once every process has.
struct RunEnd {
  Outcome outcome = Outcome::kFailed;
  std::string reason;
  std::string note;  // In words, what became of the weights where not all are where they should be; else empty.
};

// A run has failed, whatever it had reached, unless somebody is known to have kept its last weights and its best ones.
RunEnd JudgeEnd(Outcome outcome, const std::string& reason, const KeptWeights& weights);

}  // namespace waggle
