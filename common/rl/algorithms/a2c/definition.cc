#include "common/rl/algorithms/a2c/a2c.h"
#include "common/rl/algorithms/definitions.h"

namespace waggle {
namespace {

absl::StatusOr<AlgorithmPlan> Plan(const A2cOptions& options, const PlanContext& context) {
  return ActorCriticPlan(options, context, /*columns=*/{}, /*actors_wait=*/true);
}

}  // namespace

A2cOptions::A2cOptions() {
  unroll = 8;
  normalize_advantages = false;
  optimizer.type = "rmsprop";
  optimizer.learning_rate = 0.002;
}

AlgorithmDefinition a2c_definition() {
  return Define("A policy that follows its advantages, learned in step with all actors (advantage actor-critic)",
                {SpaceKind::kDiscrete, SpaceKind::kMultiDiscrete, SpaceKind::kBox}, ActorCriticDefaults, Plan);
}

}  // namespace waggle
