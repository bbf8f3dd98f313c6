#include "common/plan/actor_critic_plan.h"

#include "common/plan/head_kinds.h"

namespace waggle {

AlgorithmPlan ActorCriticPlan(const EnvironmentSpec& environment, const EntropyOptions& entropy,
                              const OptimizerOptions& optimizer, bool normalizes_returns) {
  NetworkNeed net{"actor_critic", {{"policy", PolicyHead(environment)}, {"value", HeadKind::kValue}}, optimizer};
  net.acts = true;
  AlgorithmPlan plan{{net}, EntropyScalars(entropy)};
  plan.exploration.type = "none";
  plan.normalizes_returns = normalizes_returns;
  return plan;
}

}  // namespace waggle
