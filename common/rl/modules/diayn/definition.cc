#include "common/rl/modules/intrinsic/definition.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/rl/modules/definitions.h"
#include "common/rl/modules/diayn/diayn.h"

namespace waggle {
namespace {

absl::Status Extend(const DiaynOptions& options, const PlanContext& context, AlgorithmPlan* plan) {
  const EnvironmentSpec& environment = context.environment;
  std::vector<std::string> skills;
  for (const SpaceLeaf& leaf : environment.observations) {
    if (leaf.kind != SpaceKind::kDiscrete) {
      continue;
    }
    skills.push_back(leaf.array.name);
    if (leaf.array.name == options.skill) {
      NetworkNeed discriminator{
          kDiaynDiscriminator, {{"skill", {HeadKind::kVector, leaf.num_values[0]}}}, options.optimizer};
      discriminator.hidden = {options.skill};
      discriminator.is_modules = true;
      plan->networks.push_back(discriminator);
      ShowAllRows(environment.observations, plan);
      return CheckBonus(options, context, {kDiaynDiscriminator});
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("skill: got ", options.skill, "; wanted a discrete observation of ", environment.name, ", such as ",
                   skills.empty() ? "environment.transforms: [{random_goal: {as: skill, choices: 8}}] adds"
                                  : absl::StrJoin(skills, ", ")));
}

}  // namespace

DiaynOptions::DiaynOptions() {
  extrinsic_weight = 0;
  normalize = false;
}

void DiaynOptions::Visit(ConfigVisitor& visitor) {
  visitor.String("skill", &skill);
  IntrinsicOptions::Visit(visitor);
}

ModuleDefinition diayn_module_definition() {
  return DefineModule("A bonus for observations that tell the episode's skill", ModuleStage::kRewards, Extend);
}

}  // namespace waggle
