#pragma once

#include <cstdint>
#include <limits>
#include <set>
#include <string>

#include "common/hub/ports/hub.h"
#include "param_server/experiments/experiment_store.h"

namespace waggle {

struct Submission {
  std::string submitted_yaml;
  std::string effective_yaml;
  int64_t priority = 0;
  std::string request_id;
};

struct ExperimentQuery {
  int64_t limit = 100;
  std::set<RunState> states;                             // Empty: all.
  int64_t before = std::numeric_limits<int64_t>::max();  // Only experiments with a smaller sequence.
};

}  // namespace waggle
