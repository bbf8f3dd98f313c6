#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "common/config/experiment/experiment_plan.h"
#include "common/nn/state_visitor.h"
#include "common/nn/torch.h"
#include "common/rl/kit/batches.h"
#include "common/rl/kit/model.h"
#include "common/rl/kit/running_statistics.h"

namespace waggle {

// Means and deviations of the learned observations that a plan's networks normalise. The networks store them beside
// their parameters, so that both are published and saved. Not thread-safe; may throw as LibTorch does.
class ObservationStatistics {
 public:
  // The plan must outlive this, and models must be of this plan.
  ObservationStatistics(const ExperimentPlan* plan, torch::Device device);

  // Adds a batch of each table of the plan, in order, null if it was not drawn, and updates the networks.
  void Update(absl::Span<const TensorBatch* const> batches, Model* model);

  // Restarts from the scale that was loaded with these networks, with the weight of ten thousand rows.
  void Adopt(const std::vector<std::string>& networks, Model* model);

  void VisitState(StateVisitor* visitor);

 private:
  void Tell(Model* model) const;

  const ExperimentPlan* const plan_;
  // By a leaf of a batch: the leaves among whose statistics its rows count; several if agents share networks.
  std::map<std::string, std::set<std::string>> leaves_;
  // By the leaf's name and by NormalizerPlan::StatisticsName.
  std::map<std::string, std::map<std::string, RunningStatistics>> statistics_;
};

}  // namespace waggle
