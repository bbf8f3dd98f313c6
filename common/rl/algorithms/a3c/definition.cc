#include "common/rl/algorithms/a3c/a3c.h"
#include "common/rl/algorithms/definitions.h"

namespace waggle {
namespace {

void Defaults(Experiment* experiment) {
  ActorCriticDefaults(experiment);
  experiment->learner.gradients = "push";
}

absl::StatusOr<AlgorithmPlan> Plan(const A3cOptions& options, const PlanContext& context) {
  return ActorCriticPlan(options, context, /*columns=*/{}, /*actors_wait=*/true);
}

}  // namespace

A3cOptions::A3cOptions() {
  unroll = 8;
  normalize_returns = false;
  normalize_advantages = false;
  optimizer.type = "rmsprop";
  optimizer.learning_rate = 0.002;
}

AlgorithmDefinition a3c_definition() {
  return Define("A policy that follows its advantages, by gradients that actors push without waiting (A3C)",
                {SpaceKind::kDiscrete, SpaceKind::kMultiDiscrete, SpaceKind::kBox}, Defaults, Plan);
}

}  // namespace waggle
