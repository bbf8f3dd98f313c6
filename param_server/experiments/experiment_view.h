#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/api/hub.h"
#include "param_server/experiments/experiment_store.h"

// What an ExperimentHost is asked, and answers.

namespace waggle {

// An experiment that is handed in.
struct Submission {
  std::string submitted_yaml;
  std::string effective_yaml;
  int64_t priority = 0;
  std::string request_id;
};

// An experiment, for people: what is kept of it, with what is known of it now.
struct ExperimentView {
  ExperimentRecord record;
  uint64_t env_steps = 0;
  uint64_t learner_steps = 0;
  absl::Duration running;  // The time of the run: see ExperimentTracker.
  std::optional<RunResult> result;
  int64_t workers = 0;
  int64_t workers_wanted = 0;
};

// Which experiments are asked for: those of these states (all if there is none) that were submitted before the one of
// this sequence.
struct ExperimentQuery {
  int64_t limit = 100;
  std::set<RunState> states;
  int64_t before = std::numeric_limits<int64_t>::max();
};
// The newest first. There may be more if `next_before` is not 0: it is what to ask for them with.
struct ExperimentPage {
  std::vector<ExperimentView> views;
  int64_t next_before = 0;
};

}  // namespace waggle
