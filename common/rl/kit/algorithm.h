#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "common/base/registry.h"
#include "common/config/experiment/algorithm_definition.h"
#include "common/nn/state_visitor.h"
#include "common/rl/kit/algorithm_policy.h"
#include "common/rl/kit/batches.h"
#include "common/rl/kit/model.h"
#include "common/rl/kit/module.h"
#include "common/rl/kit/update_context.h"

namespace waggle {

// The learner's half of an algorithm: the changes that one batch makes. Its plan decides networks, optimizers, targets,
// checkpoints and publication. Holds references into the model. One thread.
class Algorithm {
 public:
  virtual ~Algorithm() = default;

  // Computes losses and descends them, in the paper's order. The caller catches what LibTorch throws.
  virtual void Update(const Batches& batches, UpdateContext* context) = 0;

  // Visits state that must survive besides the model and the noise: counters, normalisers.
  virtual void VisitState(StateVisitor* /*visitor*/) {}
};

// The code of an algorithm; an AlgorithmDefinition has the same name.
struct AlgorithmImplementation {
  // `model` must be of these options' plan and outlive this. INVALID_ARGUMENT for another algorithm's options.
  std::function<absl::StatusOr<std::unique_ptr<Algorithm>>(const AlgorithmOptions& options, Model* model)> create;
  // Its own policy if AlgorithmPlan::own_policy; null: NetworkPolicy acts (common/rl/acting/network_policy.h).
  // INVALID_ARGUMENT as above.
  std::function<absl::StatusOr<std::unique_ptr<AlgorithmPolicy>>(const AlgorithmOptions& options, ActingNets nets)>
      new_policy = {};
};

// Those of all algorithms, and of the modules that change their batches.
struct AlgorithmImplementations : public Registry<AlgorithmImplementation> {
  using Registry::Registry;
  ModuleImplementations modules = ModuleImplementations("module");
};

// Makes a `Made` from its own options. INVALID_ARGUMENT for those of another algorithm.
template <class Base, class Made, class Options, class Argument>
absl::StatusOr<std::unique_ptr<Base>> MakeOf(const AlgorithmOptions& options, Argument argument) {
  const auto* const own = dynamic_cast<const Options*>(&options);
  if (own == nullptr) {
    return absl::InvalidArgumentError("algorithm: got another algorithm's options; wanted its own");
  }
  return std::make_unique<Made>(*own, std::move(argument));
}

// For a class whose constructor takes its own options and the model.
template <class Implementation, class Options>
AlgorithmImplementation Implement() {
  return {MakeOf<Algorithm, Implementation, Options, Model*>};
}

// The same with a policy whose constructor takes the options and ActingNets.
template <class Implementation, class Policy, class Options>
AlgorithmImplementation ImplementWithPolicy() {
  return {MakeOf<Algorithm, Implementation, Options, Model*>, MakeOf<AlgorithmPolicy, Policy, Options, ActingNets>};
}

}  // namespace waggle
