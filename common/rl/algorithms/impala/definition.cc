#include "common/base/problems.h"
#include "common/config/experiment/family_defaults.h"
#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/impala/impala.h"

namespace waggle {
namespace {

// A short queue: faster actors wait for room, so that their unrolls do not grow old.
void Defaults(Experiment* experiment) {
  OnPolicyDefaults(experiment);
  experiment->replay.table.max_items = 64;
  experiment->learner.batch_size = 16;
  // A chunk always ends with its unroll.
  experiment->actor.chunk_rows = 128;
  experiment->actor.max_unacknowledged_blocks = 1;
  experiment->networks = {{"actor_critic", ActorCriticNetwork({64, 64})}};
}

absl::StatusOr<AlgorithmPlan> Plan(const ImpalaOptions& options, const PlanContext& context) {
  return ActorCriticPlan(options, context, /*columns=*/{NumberColumn("log_prob")}, /*actors_wait=*/false);
}

}  // namespace

ImpalaOptions::ImpalaOptions() {
  unroll = 16;
  lambda = 1;
  normalize_returns = false;
  normalize_advantages = false;
  optimizer.learning_rate = 0.002;
}

void ImpalaOptions::Visit(ConfigVisitor& visitor) {
  visitor.Double("rho_clip", &rho_clip, Above(0, 1e6).Live());
  visitor.Double("c_clip", &c_clip, Above(0, 1e6).Live());
  ActorCriticOptions::Visit(visitor);
}

absl::Status ImpalaOptions::Validate() const {
  Problems problems;
  problems.AddUnless(c_clip <= rho_clip, "c_clip: got ", c_clip, "; wanted at most rho_clip, ", rho_clip);
  return problems.ToStatus();
}

AlgorithmDefinition impala_definition() {
  return Define("A policy learned from older policies' actions, by actors that never wait (IMPALA)",
                {SpaceKind::kDiscrete, SpaceKind::kMultiDiscrete, SpaceKind::kBox}, Defaults, Plan);
}

}  // namespace waggle
