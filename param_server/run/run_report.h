#pragma once

#include <cstdint>
#include <map>
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
  std::optional<ModelVersion> final_version;  // Set by a learner that has stopped training.
  uint64_t turn_done = 0;                     // The last turn that the worker has done, in lock-step.
  uint64_t broken_group = 0;                  // Epoch of the group that a learner could not reach; 0: none.
  std::optional<CutReport> cut;               // The last cut that a learner has made, or has failed to make.
  std::string failure;                        // Why the worker gives up; empty otherwise.
};

// Sums of workers' counters, by role and name.
using CounterSums = std::map<Role, std::map<std::string, double>>;

// All data of a hub about its run.
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
  uint64_t evaluation_count = 0;             // All of this hub, more than the newest once they are many.
  uint64_t env_steps = 0;
  uint64_t learner_steps = 0;
  uint64_t learner_steps_again = 0;  // Steps that the present learner must repeat, as it began at an earlier version.
  int64_t replay_servers = 0;
  absl::Duration running;  // The time of the run: see ExperimentTracker.
  RunTotals totals;        // Without RunTotals::of.
  std::optional<EnvironmentSpec> environment;
  std::optional<RunResult> result;
  // Why weights, progress or figures are not on the disk, in words; empty if they are.
  std::string weights_unsaved;
  std::string progress_unsaved;
  std::string figures_unrecorded;
  std::optional<Turn> turn;  // Absent if the run is not in lock-step.
  // In a run in lock-step that has gone back to a cut: the counters of the workers that it had until then.
  CounterSums earlier_counters;
};

// The short form of HubOverview.
struct RunStanding {
  RunState state = RunState::kNoExperiment;
  std::string reason;  // Why the run ended, in words.
  uint64_t env_steps = 0;
  uint64_t learner_steps = 0;
  absl::Duration running;  // The time of the run at its last update: see ExperimentTracker.
  std::optional<RunResult> result;
  std::optional<Evaluation> newest_evaluation;
};

}  // namespace waggle
