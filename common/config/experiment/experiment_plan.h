#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/config/experiment/experiment.h"
#include "common/config/plan/algorithm_plan.h"
#include "common/config/plan/network_plan.h"

namespace waggle {

// The needs of an experiment's algorithm in an environment, resolved. Every process builds from it.
struct ExperimentPlan {
  AlgorithmPlan algorithm;            // Its tables have the run's seed, and are named EXPERIMENT/TABLE.
  std::vector<NetworkPlan> networks;  // For algorithm.networks, in their order.

  // The networks that act, in their order.
  std::vector<const NetworkPlan*> acting() const;
  // Identifies the published weights: the acting network's hash, or one over all of them.
  uint64_t acting_hash() const;
};

// INVALID_ARGUMENT, one problem a line, each behind its key, if the options of the sections do not fit each other or
// the environment. CheckAgainstEnvironment checks that the algorithm can take the environment.
absl::StatusOr<ExperimentPlan> PlanExperiment(const Experiment& experiment, const EnvironmentSpec& environment,
                                              const AlgorithmDefinitions& algorithms);

// Checks that need the environment's facts: the algorithm can take its spaces, the networks fit them, the tables can be
// made. The error has the code of the first problem, and lists all, one a line. The same checks run at the start of
// every process that needs them. If `wrong` sections of the file have mistakes of their own, checks that depend on them
// are left out; the environment and the algorithm's name are right.
absl::Status CheckAgainstEnvironment(const Experiment& experiment, const EnvironmentSpec& environment,
                                     const AlgorithmDefinitions& algorithms, const std::set<std::string>& wrong = {});

}  // namespace waggle
