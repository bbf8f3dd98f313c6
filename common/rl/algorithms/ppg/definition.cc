#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/rl/algorithms/definitions.h"
#include "common/rl/algorithms/ppg/ppg.h"

namespace waggle {
namespace {

absl::StatusOr<AlgorithmPlan> Plan(const PpgOptions& options, const PlanContext& context) {
  const auto network = context.networks.find("actor_critic");
  if (network != context.networks.end()) {
    const auto head = network->second.heads.find(kAuxiliaryValue);
    if (head != network->second.heads.end() && head->second.shares != "all") {
      return absl::InvalidArgumentError(absl::StrCat("networks.actor_critic.heads.", kAuxiliaryValue, ".shares: got ",
                                                     head->second.shares,
                                                     "; wanted all: it teaches the policy's layers the value"));
    }
  }
  WAGGLE_ASSIGN_OR_RETURN(AlgorithmPlan plan, PpoPlan(options, context));
  plan.networks[0].heads[kAuxiliaryValue] = HeadKind::kValue;
  plan.kept_batches = options.policy_phases;
  return plan;
}

}  // namespace

PpgOptions::PpgOptions() {
  epochs = 4;
}

void PpgOptions::Visit(ConfigVisitor& visitor) {
  visitor.Int("policy_phases", &policy_phases, In(1, 10'000));
  visitor.Int("auxiliary_epochs", &auxiliary_epochs, In(1, 1'000).Live());
  visitor.Double("clone_weight", &clone_weight, In(0, 1e6).Live());
  PpoOptions::Visit(visitor);
}

AlgorithmDefinition ppg_definition() {
  return Define("PPO whose value is distilled into the policy's layers in phases of its own (phasic policy gradient)",
                {SpaceKind::kDiscrete, SpaceKind::kMultiDiscrete, SpaceKind::kBox}, ActorCriticDefaults, Plan);
}

}  // namespace waggle
