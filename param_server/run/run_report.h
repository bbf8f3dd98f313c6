#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/hub/ports/hub.h"
#include "param_server/run/evaluation_log.h"
#include "param_server/run/run_totals.h"
#include "param_server/run/worker_table.h"

namespace waggle {

// A worker's heartbeat.
struct WorkerReport {
  std::string worker_id;
  WorkerFigures figures;
  std::optional<EnvironmentSpec> environment;
  std::vector<DatedEvaluation> evaluations;
  std::optional<ModelVersion> final_version;  // Of a learner that has stopped training.
  uint64_t turn_done = 0;                     // The last turn that the worker has done, in lock-step.
  uint64_t broken_group = 0;                  // Of a learner: the group's epoch; 0: none.
  std::string failure;                        // Why the worker gives up; empty otherwise.
};

// Everything that a hub knows of its run, for people.
struct HubOverview {
  RunState run_state = RunState::kNoExperiment;
  std::string outcome_reason;
  std::string experiment_name;
  std::string experiment_yaml;
  std::vector<WorkerView> workers;
  std::string model;
  std::optional<ModelVersion> model_version;
  uint64_t model_bytes = 0;
  std::vector<DatedEvaluation> evaluations;  // The newest, oldest first.
  uint64_t evaluation_count = 0;             // All that this hub has had: more than those above, once they are many.
  uint64_t env_steps = 0;
  uint64_t learner_steps = 0;
  uint64_t learner_steps_again = 0;  // Steps that the present learner must repeat, as it began from an earlier one.
  int64_t replay_servers = 0;        // That the run has.
  absl::Duration running;            // The time of the run: see ExperimentTracker.
  RunTotals totals;                  // Without the parts of single workers.
  std::optional<EnvironmentSpec> environment;
  std::optional<RunResult> result;
  std::string weights_unsaved;     // Why the newest and the best weights are not all on the disk; empty if they are.
  std::string progress_unsaved;    // Why the last save of the run's progress failed; empty if it did not.
  std::string figures_unrecorded;  // Why figures are not on the disk; empty if they are.
  std::optional<Turn> turn;        // Absent if the run is not in lock-step.
};

// A run's standing, in short.
struct RunStanding {
  RunState state = RunState::kNoExperiment;
  std::string reason;  // In words, why it ended.
  uint64_t env_steps = 0;
  uint64_t learner_steps = 0;
  absl::Duration running;  // The time of the run, as of the last report or look at it: see ExperimentTracker.
  std::optional<RunResult> result;
};

}  // namespace waggle
