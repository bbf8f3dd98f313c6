#include "common/plan/actor_critic_plan.h"

#include "common/plan/head_kinds.h"

namespace waggle {

AlgorithmPlan ActorCriticPlan(const EnvironmentSpec& environment, const EntropyOptions& entropy,
                              const OptimizerOptions& optimizer) {
  const HeadKind policy = PolicyHead(environment.actions[0].kind);
  NetworkNeed net{"actor_critic", {{"policy", policy}, {"value", HeadKind::kValue}}, optimizer};
  net.acts = true;
  AlgorithmPlan plan{{net}, EntropyScalars(entropy)};
  plan.exploration.type = "none";
  return plan;
}

}  // namespace waggle
