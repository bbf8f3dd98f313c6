#pragma once

#include <string>
#include <utility>

#include "common/nn/state_visitor.h"
#include "common/nn/torch.h"
#include "common/rl/kit/batches.h"
#include "common/rl/kit/running_statistics.h"
#include "common/rl/kit/update_context.h"
#include "common/rl/modules/intrinsic/definition.h"

namespace waggle {

// The steps of a table's batch, [steps, …]: those of its first row in their order, then those of its second row.
struct Steps {
  Observations observation;
  torch::Tensor action;  // The joint action; undefined unless asked for.
  torch::Tensor reward;  // [steps].
  Observations next_observation;
  // [steps], bool: true for a step of an episode, false for padding and from an episode's last row to the next first
  // one. The fields above are zero where it is false.
  torch::Tensor counts;
};

// A column in all rows of a batch's windows, [rows, columns, …], as ShowAllRows makes it visible.
torch::Tensor AllRows(const TensorBatch& batch, const std::string& column);

// ShowAllRows must have had the observations, and the actions if these are asked for. May throw as LibTorch does.
Steps StepsOf(const EnvironmentSpec& environment, const TensorBatch& batch, bool with_actions = false);

// The mean of `values` [steps] over those that count; 0 if there are none.
torch::Tensor MeanOfCounted(const torch::Tensor& values, const torch::Tensor& counts);

// Adds bonuses to rewards. Not thread-safe; may throw as LibTorch does.
class RewardMixer {
 public:
  // `metric` is the name under which it reports.
  RewardMixer(std::string metric, const IntrinsicOptions& options, torch::Device device)
      : metric_(std::move(metric)),
        weight_(options.weight),
        extrinsic_weight_(options.extrinsic_weight),
        normalize_(options.normalize),
        bonuses_({}, device) {}

  // Sets the batch's rewards, from a bonus for each of its steps, [steps]. Reports the mean bonus, before weight and
  // scale.
  void Mix(const EnvironmentSpec& environment, const Steps& steps, const torch::Tensor& bonus, TensorBatch* batch,
           UpdateContext* context);

  void VisitState(StateVisitor* visitor) { bonuses_.VisitState(visitor); }

 private:
  const std::string metric_;
  const double weight_;
  const double extrinsic_weight_;
  const bool normalize_;
  RunningStatistics bonuses_;
};

}  // namespace waggle
