#include "common/rl/modules/intrinsic/steps.h"

#include "common/config/experiment/table_plans.h"
#include "common/config/table/batch_layout.h"

namespace waggle {
namespace {

using torch::Tensor;

bool Has(const TensorBatch& batch, const std::string& field) {
  return batch.fields.find(field) != batch.fields.end();
}

}  // namespace

Tensor AllRows(const TensorBatch& batch, const std::string& column) {
  if (Has(batch, AllRowsName(column))) {
    return batch.at(AllRowsName(column));
  }
  return Has(batch, NextName(column)) ? torch::stack({batch.at(column), batch.at(NextName(column))}, 1)
                                      : batch.at(column);
}

Steps StepsOf(const EnvironmentSpec& environment, const TensorBatch& batch, bool with_actions) {
  const int64_t columns = batch.at(environment.rewards[0].name).size(1);
  const Tensor& length = batch.at(kItemLength);
  const Tensor column = torch::arange(columns - 1, length.options());
  Tensor counts = column.unsqueeze(0) < (length - 1).unsqueeze(1);
  if (Has(batch, kStepType)) {  // An unroll goes across the ends of episodes.
    counts = counts.logical_and(batch.at(kStepType).narrow(1, 0, columns - 1) != static_cast<int32_t>(StepType::kLast));
  }
  Steps result;
  result.counts = counts.flatten();
  // Rows [first, first + columns - 1) as steps.
  const auto steps = [&](const Tensor& rows, int64_t first) {
    return ZerosElsewhere(result.counts, rows.narrow(1, first, columns - 1).flatten(0, 1));
  };
  result.reward = steps(batch.at(environment.rewards[0].name), 0);
  for (const SpaceLeaf& leaf : environment.observations) {
    const Tensor rows = AllRows(batch, leaf.array.name);
    result.observation.push_back(steps(rows, 0));
    result.next_observation.push_back(steps(rows, 1));
  }
  if (with_actions) {
    // A window of two rows shows the action of the first.
    const bool is_single = columns == 2 && Has(batch, NextName(environment.observations[0].array.name));
    result.action = JointActions(environment, 1, [&](const std::string& name) {
      return steps(is_single ? batch.at(name).unsqueeze(1) : AllRows(batch, name), 0);
    });
  }
  return result;
}

Tensor MeanOfCounted(const Tensor& values, const Tensor& counts) {
  return torch::where(counts, values, torch::zeros({}, values.options())).sum() / counts.sum().clamp_min(1);
}

void RewardMixer::Mix(const EnvironmentSpec& environment, const Steps& steps, const Tensor& bonus, TensorBatch* batch,
                      UpdateContext* context) {
  context->Report(metric_, MeanOfCounted(bonus, steps.counts));
  Tensor scaled = bonus.detach();
  if (normalize_) {
    bonuses_.Update(scaled.masked_select(steps.counts));
    scaled = bonuses_.Scale(scaled);
  }
  Tensor& reward = batch->fields.find(environment.rewards[0].name)->second;
  const int64_t rows = reward.size(0);
  const Tensor paid = torch::where(steps.counts, scaled, torch::zeros({}, scaled.options())).reshape({rows, -1});
  const Tensor padded = torch::cat({paid, torch::zeros({rows, 1}, paid.options())}, 1);
  reward = (extrinsic_weight_ * reward + weight_ * padded).to(reward.scalar_type());
}

}  // namespace waggle
