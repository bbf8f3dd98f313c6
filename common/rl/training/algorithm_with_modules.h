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
  // `model` must be of the experiment's plan and outlive this. NOT_FOUND for an algorithm or a module without code.
  static absl::StatusOr<AlgorithmWithModules> Create(const Experiment& experiment,
                                                     const AlgorithmImplementations& implementations, Model* model);

  // Lets the modules change a batch of each table of the plan, in their order, and the algorithm learn from the result.
  // Returns the rewards that it learned from.
  std::vector<torch::Tensor> Update(std::map<std::string, const TensorBatch*> batches, UpdateContext* context);

  // Visits the state of all of them.
  void VisitState(StateVisitor* visitor);

 private:
  explicit AlgorithmWithModules(Model* model) : model_(model) {}

  Model* model_;
  std::unique_ptr<Algorithm> algorithm_;
  std::vector<std::pair<std::string, std::unique_ptr<Module>>> modules_;  // By type, in the experiment's order.
};

}  // namespace waggle
