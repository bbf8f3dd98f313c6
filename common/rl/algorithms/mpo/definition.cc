#include <cmath>

#include "common/config/experiment/family_defaults.h"
#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/mpo/mpo.h"

namespace waggle {
namespace {

absl::StatusOr<AlgorithmPlan> Plan(const MpoOptions& options, const PlanContext& context) {
  const bool choices = context.environment.actions[0].kind == SpaceKind::kDiscrete;
  NetworkNeed actor{"actor", {{"policy", choices ? HeadKind::kCategorical : HeadKind::kTanhNormal}}};
  actor.has_target = true;
  NetworkNeed critic{"critic", {{choices ? "q" : "value", choices ? HeadKind::kQ : HeadKind::kValue}}};
  critic.takes_action = !choices;
  AlgorithmPlan plan = OffPolicyActorCriticPlan(options, context, actor, critic);
  const double log_multiplier = std::log(options.multiplier);
  plan.scalars = {{"log_mean_multiplier", log_multiplier, options.multiplier_optimizer},
                  {"log_stddev_multiplier", log_multiplier, options.multiplier_optimizer}};
  if (choices) {
    plan.scalars = {{"log_multiplier", log_multiplier, options.multiplier_optimizer}};
  }
  plan.iterates = options.policy_steps > 1;
  return plan;
}

// Each row costs many passes of the target critic, so that batches and networks are half as wide as others'.
void Defaults(Experiment* experiment) {
  OffPolicyActorCriticDefaults(experiment);
  experiment->networks = {{"actor", Mlp({128, 128})}, {"critic", Mlp({128, 128})}};
  experiment->replay.table.rate_limiter.samples_per_insert = 128;
  experiment->learner.batch_size = 128;
}

}  // namespace

MpoOptions::MpoOptions() {
  target_update_rate = 0.02;
  multiplier_optimizer.learning_rate = 0.01;
}

void MpoOptions::Visit(ConfigVisitor& visitor) {
  visitor.Int("samples", &samples, In(2, 10'000).Live());
  visitor.Int("policy_steps", &policy_steps, In(1, 1'000));
  visitor.Double("improvement", &improvement, Above(0, 100).Live());
  visitor.Double("policy_divergence", &policy_divergence, Above(0, 100).Live());
  visitor.Double("mean_divergence", &mean_divergence, Above(0, 100).Live());
  visitor.Double("stddev_divergence", &stddev_divergence, Above(0, 100).Live());
  visitor.Double("multiplier", &multiplier, Above(0, 1e6));
  visitor.Section("multiplier_optimizer", &multiplier_optimizer);
  OffPolicyActorCriticOptions::Visit(visitor);
}

AlgorithmDefinition mpo_definition() {
  return Define("A policy fitted to its own target, weighed by a critic (maximum a posteriori policy optimisation)",
                {SpaceKind::kBox, SpaceKind::kDiscrete}, Defaults, Plan);
}

}  // namespace waggle
