#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/registry.h"
#include "common/config/config_visitor.h"
#include "common/config/experiment/plan_context.h"
#include "common/config/plan/algorithm_plan.h"

namespace waggle {

// The keys of a module in its entry of `algorithm.modules`, beside `type`.
class ModuleOptions {
 public:
  virtual ~ModuleOptions() = default;
  virtual void Visit(ConfigVisitor& visitor) = 0;
  virtual absl::Status Validate() const = 0;
};

// The stages of an update's batches, in order. The entries of `algorithm.modules` are in this order too.
enum class ModuleStage {
  kGoals,    // Changes observations and the environment's own rewards.
  kRewards,  // Adds to rewards, or weighs them.
  kLosses,   // Only adds terms to losses.
};

// The part of a module that needs no tensor library. A module changes the batches of any algorithm, or adds terms to
// its losses; the algorithm does not know its modules. The computing half is a ModuleImplementation
// (common/rl/kit/module.h).
struct ModuleDefinition {
  std::string description;  // One line.
  ModuleStage stage = ModuleStage::kRewards;

  // Options at their defaults.
  std::function<std::unique_ptr<ModuleOptions>()> new_options;

  // Adds the module's networks, scalars and fields of tables to an algorithm's plan. INVALID_ARGUMENT if it does not
  // fit the algorithm or the environment: one problem a line, each behind a key of the module ("goal: …").
  std::function<absl::Status(const ModuleOptions& options, const PlanContext& context, AlgorithmPlan* plan)> extend;
};

using ModuleDefinitions = Registry<ModuleDefinition>;

// An entry of `algorithm.modules`.
struct ModuleChoice {
  // `known` has the types that can be read; null when writing. It must outlive reading.
  explicit ModuleChoice(const ModuleDefinitions* known = nullptr) : definitions(known) {}

  std::string type;
  std::shared_ptr<ModuleOptions> options;  // Never null once parsed.
  const ModuleDefinitions* definitions;

  void Visit(ConfigVisitor& visitor) {
    visitor.Choice("type", &type, definitions == nullptr ? std::vector<std::string>{type} : definitions->Names());
    if (definitions != nullptr) {
      const absl::StatusOr<const ModuleDefinition*> definition = definitions->Find(type);
      if (!definition.ok()) {
        // The type's own error has been reported. The other keys are not known.
        visitor.AllowOtherKeys();
        return;
      }
      options = (*definition)->new_options();
    }
    options->Visit(visitor);
  }
  absl::Status Validate() const { return options == nullptr ? absl::OkStatus() : options->Validate(); }
};

// A definition whose `extend` takes the module's own options. The one place where these are cast.
template <class Options>
ModuleDefinition DefineModule(std::string description, ModuleStage stage,
                              absl::Status (*extend)(const Options& options, const PlanContext& context,
                                                     AlgorithmPlan* plan)) {
  ModuleDefinition definition;
  definition.description = std::move(description);
  definition.stage = stage;
  definition.new_options = [] { return std::make_unique<Options>(); };
  definition.extend = [extend](const ModuleOptions& options, const PlanContext& context, AlgorithmPlan* plan) {
    const auto* const own = dynamic_cast<const Options*>(&options);
    return own == nullptr ? absl::InvalidArgumentError("type: got another module's options; wanted its own")
                          : extend(*own, context, plan);
  };
  return definition;
}

}  // namespace waggle
