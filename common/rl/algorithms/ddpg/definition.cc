#include <cmath>

#include "common/base/problems.h"
#include "common/base/status_macros.h"
#include "common/rl/algorithms/ddpg/ddpg.h"
#include "common/rl/algorithms/definitions.h"
#include "common/rl/kit/td_error_priority.h"

namespace waggle {
namespace {

absl::Status Check(const DdpgOptions& options, const PlanContext& context, int64_t choices) {
  Problems problems;
  problems.AddUnless(choices == 0 || options.best_probability * static_cast<double>(choices) >= 1,
                     "algorithm.best_probability: got ", options.best_probability,
                     "; wanted at least the share of one of ", choices, " choices");
  problems.AddUnless(options.initial_priority == "highest" || context.replay.table.UsesPriorities(),
                     "algorithm.initial_priority: got ", options.initial_priority,
                     "; wanted highest, or replay.sampler.kind: prioritized");
  return problems.ToStatus();
}

}  // namespace

// The noise is the paper's, for real actions.
DdpgOptions::DdpgOptions() {
  exploration.type = ExplorationOptions::kByAction;
  exploration.sigma = 0.2;
  exploration.time_step = 1;
}

void DdpgOptions::Visit(ConfigVisitor& visitor) {
  visitor.Int("critics", &critics, In(1, 16));
  visitor.Double("best_probability", &best_probability, In(0.01, 0.9999));
  visitor.Choice("initial_priority", &initial_priority, {"highest", "td_error"});
  DeterministicActorCriticOptions::Visit(visitor);
}

double ScaleOf(double best_probability, int64_t choices) {
  return choices < 2 ? 0 : std::log(static_cast<double>(choices - 1) * best_probability / (1 - best_probability));
}

absl::StatusOr<AlgorithmPlan> DdpgPlan(const DdpgOptions& options, const PlanContext& context) {
  const SpaceLeaf& action = context.environment.actions[0];
  const bool is_choice = action.kind == SpaceKind::kDiscrete;
  WAGGLE_RETURN_IF_ERROR(Check(options, context, is_choice ? action.TotalChoices() : 0));
  NetworkNeed critic{"critic", {{"value", HeadKind::kValue}}};
  critic.members = options.critics;
  critic.acts = options.initial_priority == "td_error";
  AlgorithmPlan plan = DeterministicActorCriticPlan(options, context, critic);
  plan.own_policy = is_choice || critic.acts;
  if (critic.acts) {
    StartWith(TdErrorPriority(options.discount), context, &plan);
  }
  if (plan.exploration.type == ExplorationOptions::kByAction) {
    plan.exploration.type = is_choice ? "none" : "ornstein_uhlenbeck";  // best_probability explores choices.
  }
  return plan;
}

AlgorithmDefinition ddpg_definition() {
  return Define("An actor that climbs its critic, from transitions of any policy (deep deterministic policy gradient)",
                {SpaceKind::kBox, SpaceKind::kDiscrete}, OffPolicyActorCriticDefaults, DdpgPlan);
}

}  // namespace waggle
