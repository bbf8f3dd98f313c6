#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "common/experiment/experiment_plan.h"
#include "common/nn/state_visitor.h"
#include "common/nn/torch.h"
#include "common/rl/batches.h"
#include "common/rl/model.h"
#include "common/rl/running_statistics.h"

namespace waggle {

// Mean and deviation of every observation that some network of a plan normalises, of what was learned from. The
// networks hold them beside their parameters, so that they are published and saved with these. Not thread-safe; may
// throw as LibTorch does.
class ObservationStatistics {
 public:
  // The plan outlives it; models are of this plan.
  ObservationStatistics(const ExperimentPlan* plan, torch::Device device);

  // Takes in a batch of each table of the plan, in their order, and tells the networks.
  void Update(absl::Span<const TensorBatch* const> batches, Model* model);

  // Begins anew from the scale that was published with the acting network. That scale weighs as much as ten thousand
  // rows, so that a few batches do not change it much.
  void Adopt(Model* model);

  void VisitState(StateVisitor* visitor);

 private:
  void Tell(Model* model) const;

  const ExperimentPlan* const plan_;
  // By the leaf's name and by NormalizerPlan::StatisticsName.
  std::map<std::string, std::map<std::string, RunningStatistics>> statistics_;
};

}  // namespace waggle
