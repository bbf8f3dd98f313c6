#pragma once

#include <cstdint>
#include <limits>
#include <set>
#include <string>

#include "common/hub/ports/hub.h"
#include "param_server/experiments/experiment_store.h"

// The requests that an ExperimentHost answers.

namespace waggle {

// An experiment that is handed in.
struct Submission {
  std::string submitted_yaml;
  std::string effective_yaml;
  int64_t priority = 0;
  std::string request_id;
};

// Which experiments are asked for: those of these states (all if there is none) that were submitted before the one of
// this sequence.
struct ExperimentQuery {
  int64_t limit = 100;
  std::set<RunState> states;
  int64_t before = std::numeric_limits<int64_t>::max();
};

}  // namespace waggle
