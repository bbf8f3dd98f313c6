#include "common/rl/kit/batches.h"

#include <algorithm>

#include "common/config/experiment/table_plans.h"
#include "common/config/plan/table_plan.h"
#include "common/config/spec/joint_action.h"
#include "common/config/table/batch_layout.h"
#include "common/rl/kit/importance_weights.h"
#include "common/rl/kit/returns/n_step_returns.h"

namespace waggle {
namespace {

// [rows] of `options`' type.
torch::Tensor WeightsOf(const TensorBatch& batch, double importance_exponent, const torch::TensorOptions& options) {
  return importance_exponent == 0
             ? torch::ones({batch.size}, options)
             : ImportanceWeights(batch.at(kItemProbability), importance_exponent).to(options.dtype());
}

}  // namespace

torch::Tensor ZerosElsewhere(torch::Tensor mask, const torch::Tensor& values) {
  while (mask.dim() < values.dim()) {
    mask = mask.unsqueeze(-1);
  }
  return torch::where(mask, values, torch::zeros({}, values.options()));
}

torch::Tensor JointActions(const EnvironmentSpec& environment, int64_t lead,
                           const std::function<torch::Tensor(const std::string& name)>& field) {
  const JointAction action = JointActionOf(environment);
  const auto leaf = [&](const JointAction::Part& part) { return field(environment.actions[part.leaf].array.name); };
  if (action.is_scalar) {
    return leaf(action.parts[0]);
  }
  std::vector<torch::Tensor> leaves;
  for (const JointAction::Part& part : action.parts) {
    const torch::Tensor values = leaf(part);
    std::vector<int64_t> shape = values.sizes().slice(0, static_cast<size_t>(lead)).vec();
    shape.push_back(part.elements);
    leaves.push_back(values.reshape(shape));
  }
  // Real leaves are last.
  const torch::ScalarType type = action.num_reals > 0 ? leaves.back().scalar_type() : torch::kInt64;
  for (torch::Tensor& values : leaves) {
    values = values.to(type);
  }
  return leaves.size() == 1 ? leaves[0] : torch::cat(leaves, -1);
}

Transitions TransitionsOf(const Batches& batches, double discount, double importance_exponent) {
  return TransitionsOf(batches.environment(), batches.only(), discount, importance_exponent);
}

Transitions TransitionsOf(const EnvironmentSpec& environment, const TensorBatch& batch, double discount,
                          double importance_exponent) {
  Transitions transitions;
  for (const SpaceLeaf& leaf : environment.observations) {
    transitions.observation.push_back(batch.at(leaf.array.name));
    transitions.next_observation.push_back(batch.at(NextName(leaf.array.name)));
  }
  transitions.action = JointActions(environment, 1, [&](const std::string& name) { return batch.at(name); });
  const NStepReturn returns =
      NStepReturns(batch.at(environment.rewards[0].name), batch.at(kDiscount), batch.at(kItemLength), discount);
  transitions.n_step_return = returns.rewards;
  transitions.bootstrap = returns.bootstrap;
  transitions.weight = WeightsOf(batch, importance_exponent, returns.rewards.options());
  return transitions;
}

Unrolls UnrollsOf(const Batches& batches, double discount) {
  return UnrollsOf(batches.environment(), batches.only(), discount);
}

Unrolls UnrollsOf(const EnvironmentSpec& environment, const TensorBatch& batch, double discount) {
  const torch::Tensor& length = batch.at(kItemLength);
  // At least 2, so that there is a step even if all items have one row, which no actor writes.
  const int64_t longest = std::max<int64_t>(2, length.max().item<int64_t>());
  const bool all_alike = length.min().item<int64_t>() == longest;
  const auto by_time = [&](const std::string& name) { return batch.at(name).transpose(0, 1).narrow(0, 0, longest); };
  const torch::Tensor row = torch::arange(longest, length.options()).unsqueeze(1);
  Unrolls unrolls;
  unrolls.batch = &batch;
  for (const SpaceLeaf& leaf : environment.observations) {
    const torch::Tensor observation = by_time(leaf.array.name);
    unrolls.observation.push_back(all_alike ? observation : ZerosElsewhere(row < length, observation));
  }
  const torch::Tensor step_type = by_time(kStepType);
  unrolls.first = (step_type == static_cast<int32_t>(StepType::kFirst)).logical_and(row < length);
  const torch::Tensor acted = (step_type != static_cast<int32_t>(StepType::kLast)).logical_and(row < length - 1);
  unrolls.counts = Unrolls::Steps(acted);
  unrolls.last = unrolls.counts.logical_not();
  // The action of a row without a step has no gradient.
  unrolls.action = ZerosElsewhere(acted, JointActions(environment, 2, by_time));
  unrolls.reward = Unrolls::Steps(by_time(environment.rewards[0].name));
  unrolls.discount = Unrolls::Steps(by_time(kDiscount)) * discount;
  if (const auto state = batch.fields.find(kCoreState); state != batch.fields.end()) {
    unrolls.core_state = state->second;
  }
  return unrolls;
}

Sequences SequencesOf(const Batches& batches, double discount, int64_t burn_in, double importance_exponent) {
  return SequencesOf(batches.environment(), batches.only(), discount, burn_in, importance_exponent);
}

Sequences SequencesOf(const EnvironmentSpec& environment, const TensorBatch& batch, double discount, int64_t burn_in,
                      double importance_exponent) {
  Sequences sequences;
  static_cast<Unrolls&>(sequences) = UnrollsOf(environment, batch, discount);
  const torch::Tensor& counts = sequences.counts;
  const torch::Tensor step = torch::arange(counts.size(0), counts.options().dtype(torch::kInt64)).unsqueeze(1);
  sequences.learned = counts.logical_and(sequences.first[0].logical_or(step >= burn_in));
  sequences.weight = WeightsOf(*sequences.batch, importance_exponent, sequences.reward.options());
  return sequences;
}

}  // namespace waggle
