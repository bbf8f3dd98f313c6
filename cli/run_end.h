#pragma once

#include <optional>
#include <string>

#include "cli/child_process.h"
#include "cli/supervision.h"

namespace waggle {

// Whether the parameter server has the run's newest weights in its folder; absent: it did not say.
using HubKeptWeights = std::optional<bool>;

// How a run ends, once every process has.
struct RunEnd {
  Outcome outcome = Outcome::kFailed;
  std::string reason;
  std::string note;  // In words, what became of the weights where the learner did not write them; else empty.
};

// A run whose last weights nobody has kept has failed, whatever it had reached. `learner` is how the learner ended the
// last time, if it did: one that did so without an error has written its last checkpoint.
RunEnd JudgeEnd(Outcome outcome, const std::string& reason, const std::optional<ChildExit>& learner,
                HubKeptWeights hub_kept);

}  // namespace waggle
