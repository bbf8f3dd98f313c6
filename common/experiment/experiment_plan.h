#pragma once

#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/experiment/experiment.h"
#include "common/plan/algorithm_plan.h"
#include "common/plan/network_plan.h"

namespace waggle {

// What an experiment's algorithm wants in an environment, resolved: what every process builds from.
struct ExperimentPlan {
  AlgorithmPlan algorithm;            // Its tables have the run's seed, and are named EXPERIMENT/TABLE.
  std::vector<NetworkPlan> networks;  // Of algorithm.networks, in their order.

  // The network that acts; null where none does.
  const NetworkPlan* acting() const;
  // What the acting network adds to every row of the stream, as arrays.
  std::vector<ArraySpec> PolicyColumns() const;
};

// INVALID_ARGUMENT, one problem a line, each behind its key, where the options of the sections do not fit each other or
// the environment. What the algorithm cannot take of the environment is CheckAgainstEnvironment's to say.
absl::StatusOr<ExperimentPlan> PlanExperiment(const Experiment& experiment, const EnvironmentSpec& environment,
                                              const AlgorithmDefinitions& algorithms);

// Checks what needs the environment's facts: the algorithm can take its spaces, the networks fit them, the tables can
// be made. The error has the code of the first problem, and lists all, one a line. The same checks run at the start of
// every process that needs them. If `wrong` sections of the file have mistakes of their own, what depends on them is
// left out; the environment and the algorithm's name are right.
absl::Status CheckAgainstEnvironment(const Experiment& experiment, const EnvironmentSpec& environment,
                                     const AlgorithmDefinitions& algorithms, const std::set<std::string>& wrong = {});

}  // namespace waggle
