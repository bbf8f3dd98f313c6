#include "common/rl/algorithms/actor_critic/definition.h"

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/config/experiment/table_plans.h"
#include "common/config/plan/head_kinds.h"
#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/trpo/trpo.h"

namespace waggle {
namespace {

// The value's descent would move the policy out of its trust region.
absl::Status CheckNothingIsShared(const PlanContext& context) {
  constexpr char kNetwork[] = "actor_critic";
  const auto network = context.networks.find(kNetwork);
  if (network == context.networks.end()) {
    return absl::OkStatus();
  }
  const auto value = network->second.heads.find("value");
  const std::string shares = value == network->second.heads.end() ? HeadSpec().shares : value->second.shares;
  return shares == "nothing" ? absl::OkStatus()
                             : absl::InvalidArgumentError(
                                   absl::StrCat("networks.", kNetwork, ".heads.value.shares: got ", shares,
                                                ", so that the value's steps would move the policy; wanted nothing"));
}

absl::StatusOr<AlgorithmPlan> Plan(const TrpoOptions& options, const PlanContext& context) {
  WAGGLE_RETURN_IF_ERROR(CheckNothingIsShared(context));
  if (options.optimizer.WeightDecay() > 0) {  // It would move the policy out of its trust region too.
    return absl::InvalidArgumentError(absl::StrCat("algorithm.optimizer.weight_decay: got ",
                                                   options.optimizer.WeightDecay(),
                                                   ", which would also decay the policy; wanted 0"));
  }
  NetworkNeed net{
      "actor_critic", {{"policy", PolicyHead(context.environment)}, {"value", HeadKind::kValue}}, options.optimizer};
  net.acts = true;
  AlgorithmPlan plan{{net}};
  plan.exploration.type = "none";
  plan.normalizes_returns = options.normalize_returns;
  plan.iterates = true;
  plan.assigns = true;
  plan.rows_per_version = options.unroll;
  WAGGLE_ASSIGN_OR_RETURN(TablePlan unrolls, UnrollTable(context, plan, options.unroll));
  plan.tables = {std::move(unrolls)};
  return plan;
}

}  // namespace

void TrpoOptions::Visit(ConfigVisitor& visitor) {
  visitor.Int("unroll", &unroll, In(1, 100'000));
  visitor.Double("discount", &discount, In(0, 1));
  visitor.Double("lambda", &lambda, In(0, 1).Live());
  visitor.Bool("normalize_returns", &normalize_returns);
  visitor.Bool("normalize_advantages", &normalize_advantages);
  visitor.Double("max_divergence", &max_divergence, Above(0, 100).Live());
  visitor.Double("damping", &damping, In(0, 1e6).Live());
  visitor.Choice("fisher", &fisher, {"fim", "direct"});
  visitor.Int("conjugate_steps", &conjugate_steps, In(1, 10'000).Live());
  visitor.Double("conjugate_residual", &conjugate_residual, In(0, 1e6).Live());
  visitor.Int("backtracks", &backtracks, In(1, 1'000).Live());
  visitor.Int("value_steps", &value_steps, In(1, 10'000).Live());
  visitor.Section("optimizer", &optimizer);
}

AlgorithmDefinition trpo_definition() {
  return Define("A policy that takes natural gradient steps of a given divergence (trust region policy optimisation)",
                {SpaceKind::kDiscrete, SpaceKind::kMultiDiscrete, SpaceKind::kBox}, ActorCriticDefaults, Plan);
}

}  // namespace waggle
