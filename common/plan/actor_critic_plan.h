#pragma once

#include "common/plan/algorithm_plan.h"
#include "common/plan/entropy_options.h"
#include "common/plan/optimizer_options.h"
#include "common/spec/environment_spec.h"

namespace waggle {

// What every algorithm wants whose policy follows its advantages: one network, "actor_critic", with a policy of the
// action's kind and a value; a number for the entropy's weight where that is learned; no exploration, as the policy is
// random itself. `normalizes_returns`: see AlgorithmPlan. Columns and tables are the algorithm's own.
AlgorithmPlan ActorCriticPlan(const EnvironmentSpec& environment, const EntropyOptions& entropy,
                              const OptimizerOptions& optimizer, bool normalizes_returns);

}  // namespace waggle
