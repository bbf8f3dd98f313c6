#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "actor/environments/environment.h"

// An environment of one observation, one action and one scalar reward, driven with an array of each.

namespace waggle::testing {

struct OneLeafOutcome : StepOutcome {
  float reward = 0;
};

inline absl::Status ResetOneLeaf(Environment* environment, void* observation) {
  return environment->Reset({observation});
}

inline absl::StatusOr<OneLeafOutcome> StepOneLeaf(Environment* environment, const void* action, void* observation) {
  OneLeafOutcome one;
  const absl::StatusOr<StepOutcome> outcome = environment->Step({action}, {observation}, &one.reward);
  if (!outcome.ok()) {
    return outcome.status();
  }
  static_cast<StepOutcome&>(one) = *outcome;
  return one;
}

}  // namespace waggle::testing
