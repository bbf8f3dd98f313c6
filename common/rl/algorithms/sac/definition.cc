#include "common/base/status_macros.h"
#include "common/config/experiment/experiment.h"
#include "common/config/experiment/table_plans.h"
#include "common/config/spec/joint_action.h"
#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/mixed_soft_actor_critic/mixed.h"
#include "common/rl/algorithms/sac/sac.h"

namespace waggle {
namespace {

bool HasCore(const PlanContext& context, const char* network) {
  const auto spec = context.networks.find(network);
  return spec != context.networks.end() && spec->second.core.type != "none";
}

}  // namespace

absl::StatusOr<AlgorithmPlan> SacPlan(const SacOptions& options, const PlanContext& context) {
  const JointAction action = JointActionOf(context.environment);
  const bool has_core = HasCore(context, "actor") || HasCore(context, "critic");
  const int64_t burn_in = has_core ? options.burn_in : 1;
  WAGGLE_RETURN_IF_ERROR(CheckPrior(options.prior, context.environment, burn_in));
  WAGGLE_RETURN_IF_ERROR(CheckChoice(options, context.environment));
  if (IsMixed(action)) {
    return MixedPlan(options, context);
  }
  NetworkNeed actor = TanhNormalActor();
  NetworkNeed critic = ActionCritics(options.critics, HeadKind::kValue);
  if (action.num_reals == 0) {
    actor.heads = {{"policy", HeadKind::kCategorical}};
    critic.heads = {{"q", HeadKind::kQ}};
    critic.takes_action = false;
  } else if (HasCore(context, "critic")) {
    // Behind the core: it must remember the past, and not the action that is valued.
    critic.takes_action = false;
    critic.extra = {{"action", action.num_reals, /*multiplies=*/true}};
  }
  const bool by_sequences = has_core || options.prior.needs_action_before();
  const std::vector<int64_t>& reward = context.environment.rewards[0].shape;
  const bool is_vector = !reward.empty() && action.num_reals > 0 && !by_sequences;
  if (is_vector) {
    // One more for the entropy, so that weights do not change its worth.
    critic.heads = {{"value", {HeadKind::kValue, reward[0] + 1}}};
  }
  AlgorithmPlan plan = SoftActorCriticPlan(options, context, actor, critic);
  plan.learns_vector_rewards = is_vector;
  if (by_sequences) {
    plan.tables = {SequenceTable(context, plan, has_core ? options.sequence : options.n_step, burn_in)};
  }
  return plan;
}

void SacOptions::Visit(ConfigVisitor& visitor) {
  visitor.Int("critics", &critics, In(1, 16));
  visitor.Int("sequence", &sequence, In(1, 10'000));
  visitor.Int("burn_in", &burn_in, In(0, 10'000));
  PriorSoftActorCriticOptions::Visit(visitor);
  if (visitor.Applies("choice_target_entropy", learn_temperature,
                      "means nothing while learn_temperature is false; wanted none, or learn_temperature: true")) {
    visitor.OptionalDouble("choice_target_entropy", &choice_target_entropy, Above(0, 20));
  }
}

AlgorithmDefinition sac_definition() {
  AlgorithmDefinition definition =
      Define("A random policy that is paid for its entropy, from transitions of any policy (soft actor-critic)",
             {SpaceKind::kBox, SpaceKind::kDiscrete}, OffPolicyActorCriticDefaults, SacPlan);
  definition.takes_choice_beside_reals = true;
  return definition;
}

}  // namespace waggle
