#include "common/config/experiment/experiment.h"
#include "common/rl/algorithms/crossq/crossq.h"
#include "common/rl/algorithms/definitions.h"

namespace waggle {
namespace {

absl::StatusOr<AlgorithmPlan> Plan(const CrossqOptions& options, const PlanContext& context) {
  NetworkNeed actor = TanhNormalActor();
  NetworkNeed critic = ActionCritics(options.critics, HeadKind::kValue);
  actor.learns_by_batch = true;
  critic.learns_by_batch = true;
  return SoftActorCriticPlan(options, context, actor, critic);
}

void Defaults(Experiment* experiment) {
  OffPolicyActorCriticDefaults(experiment);
  LayerSpec norm;
  norm.type = "batch_norm";
  LayerSpec dense;
  dense.units = {256};
  NetworkSpec network;
  network.torso = {norm, dense, norm, dense, norm};
  experiment->networks = {{"actor", network}, {"critic", network}};
}

}  // namespace

CrossqOptions::CrossqOptions() {
  actor_optimizer.beta1 = 0.5;
  critic_optimizer.beta1 = 0.5;
}

void CrossqOptions::Visit(ConfigVisitor& visitor) {
  visitor.Int("critics", &critics, In(1, 64));
  visitor.Int("policy_delay", &policy_delay, In(1, 1'000).Live());
  SoftActorCriticOptions::Visit(visitor);
}

AlgorithmDefinition crossq_definition() {
  return Define("Soft actor-critic with batch normalisation in place of target networks (CrossQ)", {SpaceKind::kBox},
                Defaults, Plan);
}

}  // namespace waggle
