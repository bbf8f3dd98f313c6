#include "common/rl/batches.h"

#include "common/experiment/table_plans.h"
#include "common/plan/table_plan.h"
#include "common/rl/importance_weights.h"
#include "common/rl/returns.h"
#include "common/table_config/batch_layout.h"

namespace waggle {

Transitions TransitionsOf(const Batches& batches, double discount, double importance_exponent) {
  const EnvironmentSpec& environment = batches.environment();
  const TensorBatch& batch = batches.only();
  Transitions transitions;
  for (const SpaceLeaf& leaf : environment.observations) {
    transitions.observation.push_back(batch.at(leaf.array.name));
    transitions.next_observation.push_back(batch.at(NextName(leaf.array.name)));
  }
  transitions.action = batch.at(environment.actions[0].array.name);
  const NStepReturn returns =
      NStepReturns(batch.at(environment.rewards[0].name), batch.at(kDiscount), batch.at(kItemLength), discount);
  transitions.reward = returns.rewards;
  transitions.bootstrap = returns.bootstrap;
  transitions.weight =
      importance_exponent == 0
          ? torch::ones({batch.size}, returns.rewards.options())
          : ImportanceWeights(batch.at(kItemProbability), importance_exponent).to(returns.rewards.scalar_type());
  return transitions;
}

Unrolls UnrollsOf(const Batches& batches, double discount) {
  const EnvironmentSpec& environment = batches.environment();
  const TensorBatch& batch = batches.only();
  const auto by_time = [&batch](const std::string& name) { return batch.at(name).transpose(0, 1); };
  Unrolls unrolls;
  unrolls.batch = &batch;
  for (const SpaceLeaf& leaf : environment.observations) {
    unrolls.observation.push_back(by_time(leaf.array.name));
  }
  const torch::Tensor step_type = by_time(kStepType);
  unrolls.first = step_type == static_cast<int32_t>(StepType::kFirst);
  unrolls.last = Unrolls::Steps(step_type) == static_cast<int32_t>(StepType::kLast);
  unrolls.counts = unrolls.last.logical_not();
  // Whatever was decided where nothing was to be done reaches no gradient.
  torch::Tensor acted = step_type != static_cast<int32_t>(StepType::kLast);
  acted[-1] = false;
  const torch::Tensor action = by_time(environment.actions[0].array.name);
  while (acted.dim() < action.dim()) {
    acted = acted.unsqueeze(-1);
  }
  unrolls.action = torch::where(acted, action, torch::zeros({}, action.options()));
  unrolls.reward = Unrolls::Steps(by_time(environment.rewards[0].name));
  unrolls.discount = Unrolls::Steps(by_time(kDiscount)) * discount;
  if (const auto state = batch.fields.find(kCoreState); state != batch.fields.end()) {
    unrolls.core_state = state->second;
  }
  return unrolls;
}

}  // namespace waggle
