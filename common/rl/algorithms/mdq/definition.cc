#include <cmath>

#include "common/base/status_macros.h"
#include "common/config/spec/joint_action.h"
#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/mdq/mdq.h"

namespace waggle {
namespace {

absl::StatusOr<AlgorithmPlan> Plan(const MdqOptions& options, const PlanContext& context) {
  const int64_t elements = JointActionOf(context.environment).num_reals;
  WAGGLE_RETURN_IF_ERROR(CheckReachable("target_entropy", options.target_entropy,
                                        static_cast<double>(elements) * std::log(static_cast<double>(options.bins))));
  NetworkNeed actor{"actor", {{"logits", {HeadKind::kVector, options.bins}}, {"value", HeadKind::kValue}}};
  // The chosen elements, and which one is next.
  actor.extra = {{"prefix", 2 * elements, /*multiplies=*/true}};
  AlgorithmPlan plan = SoftActorCriticPlan(options, context, actor, ActionCritics(options.critics, HeadKind::kValue));
  plan.own_policy = true;
  return plan;
}

void Defaults(Experiment* experiment) {
  OffPolicyActorCriticDefaults(experiment);
  experiment->networks["actor"].heads["value"].shares = "nothing";
}

}  // namespace

void MdqOptions::Visit(ConfigVisitor& visitor) {
  visitor.Int("bins", &bins, In(2, 10'000));
  visitor.Int("critics", &critics, In(1, 16));
  visitor.Double("distill_noise", &distill_noise, In(0, 1).Live());
  SoftActorCriticOptions::Visit(visitor);
}

AlgorithmDefinition mdq_definition() {
  return Define("A soft policy of real actions that chooses one quantised element after the other (MDQ)",
                {SpaceKind::kBox}, Defaults, Plan);
}

}  // namespace waggle
