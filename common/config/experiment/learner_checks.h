#pragma once

#include <vector>

#include "absl/status/status.h"
#include "common/config/experiment/experiment.h"
#include "common/config/plan/algorithm_plan.h"
#include "common/config/plan/network_plan.h"

namespace waggle {

// Checks of an experiment's sections actor and learner against the plan of its algorithm. INVALID_ARGUMENT, with all
// problems, a line each.

// If actors wait for each learner step, the step must take whole unrolls of actors, at least one of each lane.
absl::Status CheckSynchronous(const Experiment& experiment, const AlgorithmPlan& plan);

// Checks actions that the learner's process computes, with weights that no actor has.
absl::Status CheckInference(const Experiment& experiment, const AlgorithmPlan& plan);

// Checks learners that step by the mean of their gradients.
absl::Status CheckLearners(const Experiment& experiment, const AlgorithmPlan& plan,
                           const std::vector<NetworkPlan>& networks);

// Checks that updates which depend on evaluations need not be repeatable.
absl::Status CheckEvaluations(const Experiment& experiment, const AlgorithmPlan& plan);

// Checks learner.max_policy_lag: new priorities cannot go back with items left out.
absl::Status CheckPolicyLag(const Experiment& experiment, const AlgorithmPlan& plan);

// Actors push the gradient of the published network: a step must change nothing else.
absl::Status CheckPushedGradients(const Experiment& experiment, const AlgorithmPlan& plan);

// Checks replay.import: an algorithm must be able to learn from episodes that another policy acted, and a run without
// actors must have such episodes. The plan has the states of cores.
absl::Status CheckImport(const Experiment& experiment, const AlgorithmPlan& plan);

// INVALID_ARGUMENT, behind its key, if a run of the experiment can have no cuts (docs/cuts.md).
absl::Status CheckCuts(const Experiment& experiment);

}  // namespace waggle
