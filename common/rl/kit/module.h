#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/registry.h"
#include "common/config/experiment/module_definition.h"
#include "common/nn/parameter_group.h"
#include "common/nn/state_visitor.h"
#include "common/nn/torch.h"
#include "common/rl/kit/batches.h"
#include "common/rl/kit/model.h"
#include "common/rl/kit/update_context.h"

namespace waggle {

// The batches of an update, by the table's name, as a module may change them: it sets a field to another tensor. The
// tensors themselves must not change, because they may be views of memory that others read.
using TableBatches = std::map<std::string, TensorBatch>;

// The learner's half of an entry of `algorithm.modules`. Holds references into the model. One thread. May throw as
// LibTorch does.
class Module {
 public:
  virtual ~Module() = default;

  // Changes the batches before the algorithm, and the modules behind this one, see them. It may descend losses of its
  // own networks.
  virtual void Rewrite(const EnvironmentSpec& /*environment*/, TableBatches* /*batches*/, UpdateContext* /*context*/) {}

  // A term of the loss by which the algorithm descends the group, a scalar; undefined: none.
  virtual torch::Tensor Loss(const ParameterGroup& /*group*/, const Batches& /*batches*/) { return {}; }

  // Visits state that must survive besides the model and the noise.
  virtual void VisitState(StateVisitor* /*visitor*/) {}
};

// The code of a module; a ModuleDefinition has the same name.
struct ModuleImplementation {
  // `model` must be of an extended plan and outlive this. INVALID_ARGUMENT for another module's options.
  std::function<absl::StatusOr<std::unique_ptr<Module>>(const ModuleOptions& options, Model* model)> create;
};

using ModuleImplementations = Registry<ModuleImplementation>;

// For a class whose constructor takes its own options and the model.
template <class Made, class Options>
ModuleImplementation ImplementModule() {
  return {[](const ModuleOptions& options, Model* model) -> absl::StatusOr<std::unique_ptr<Module>> {
    const auto* const own = dynamic_cast<const Options*>(&options);
    if (own == nullptr) {
      return absl::InvalidArgumentError("type: got another module's options; wanted its own");
    }
    return std::make_unique<Made>(*own, model);
  }};
}

}  // namespace waggle
