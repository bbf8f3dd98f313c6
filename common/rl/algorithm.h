#pragma once

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "common/base/registry.h"
#include "common/experiment/algorithm_definition.h"
#include "common/nn/state_visitor.h"
#include "common/rl/batches.h"
#include "common/rl/model.h"
#include "common/rl/update_context.h"

namespace waggle {

// The learner's half of an algorithm: what one batch changes. Networks, optimizers, targets, checkpoints and
// publication follow from its plan; it holds references into the model and whatever else it needs to know. One thread.
class Algorithm {
 public:
  virtual ~Algorithm() = default;

  // Computes losses and descends them, in the paper's order. What LibTorch throws becomes the update's error.
  virtual void Update(const Batches& batches, UpdateContext* context) = 0;

  // What must survive beside the model and the noise: counters, normalisers.
  virtual void VisitState(StateVisitor* /*visitor*/) {}
};

// The computing half of an algorithm; an AlgorithmDefinition has the same name.
struct AlgorithmImplementation {
  // `model` was built from the plan of these options, and outlives the algorithm. INVALID_ARGUMENT for the options of
  // another algorithm.
  std::function<absl::StatusOr<std::unique_ptr<Algorithm>>(const AlgorithmOptions& options, Model* model)> create;
};

using AlgorithmImplementations = Registry<AlgorithmImplementation>;

// That of a class whose constructor takes its own options and the model.
template <class Implementation, class Options>
AlgorithmImplementation Implement() {
  return {[](const AlgorithmOptions& options, Model* model) -> absl::StatusOr<std::unique_ptr<Algorithm>> {
    const auto* const own = dynamic_cast<const Options*>(&options);
    if (own == nullptr) {
      return absl::InvalidArgumentError("algorithm: these are another algorithm's options");
    }
    return std::make_unique<Implementation>(*own, model);
  }};
}

}  // namespace waggle
