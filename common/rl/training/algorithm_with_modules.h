#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/config/experiment/experiment.h"
#include "common/nn/state_visitor.h"
#include "common/nn/torch.h"
#include "common/rl/kit/algorithm.h"

namespace waggle {

// An experiment's algorithm, and the modules between it and the batches. Holds references into the model. One thread;
// may throw as LibTorch does.
class AlgorithmWithModules {
 public:
  // `plan` is the experiment's. `model` must be of it and outlive this. NOT_FOUND for an algorithm or a module without
  // code.
  static absl::StatusOr<AlgorithmWithModules> Create(const Experiment& experiment, const AlgorithmPlan& plan,
                                                     const AlgorithmImplementations& implementations, Model* model);

  // Lets the modules change a batch of each table of the plan, in their order, and the algorithm learn from the result.
  // A vector reward becomes the weighted sum of its dimensions, unless the algorithm learns from each. Returns the
  // (weighted) rewards that it learned from.
  std::vector<torch::Tensor> Update(std::map<std::string, const TensorBatch*> batches, UpdateContext* context);

  // Visits the state of all of them.
  void VisitState(StateVisitor* visitor);

 private:
  AlgorithmWithModules(const AlgorithmPlan& plan, Model* model);

  // Rewards of the weighted sum of their dimensions, [rows, columns].
  torch::Tensor Weighted(const torch::Tensor& rewards, const UpdateContext& context) const;

  Model* model_;
  bool learns_vector_rewards_;
  std::vector<std::string> modules_tables_;
  torch::Tensor reward_weights_;  // The first ones; undefined for a scalar reward.
  std::unique_ptr<Algorithm> algorithm_;
  std::vector<std::pair<std::string, std::unique_ptr<Module>>> modules_;  // By type, in the experiment's order.
};

}  // namespace waggle
