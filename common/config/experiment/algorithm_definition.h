#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/registry.h"
#include "common/config/config_visitor.h"
#include "common/config/experiment/module_definition.h"
#include "common/config/experiment/plan_context.h"
#include "common/config/plan/algorithm_plan.h"
#include "common/config/schedule.h"
#include "common/config/spec/space_leaf.h"

namespace waggle {

struct Experiment;

// An algorithm's own part of the `algorithm:` section.
class AlgorithmOptions {
 public:
  virtual ~AlgorithmOptions() = default;
  virtual void Visit(ConfigVisitor& visitor) = 0;
  virtual absl::Status Validate() const = 0;

  // `algorithm.importance_exponent`, for algorithms that learn from replayed items. The experiment visits it, as it has
  // a meaning only beside a sampler that draws by priority. A row's loss is multiplied by (items * probability) ^
  // -exponent over the largest of the batch, which undoes the effect of priorities on the expectation: not at all with
  // an exponent of 0, fully with 1 (Schaul et al. 2015, arXiv 1511.05952). Absent: all rows count alike.
  std::optional<Schedule> importance_exponent;
  // `algorithm.reward_weights`, which the experiment visits: the weight of each dimension of a reward that is a vector.
  // Empty: ones.
  std::vector<double> reward_weights;
  // 0 if it is absent.
  double ImportanceExponentAt(const Progress& progress) const {
    return importance_exponent.has_value() ? importance_exponent->At(progress) : 0;
  }
};

// The part of an algorithm that needs no tensor library: its facts, its options, its plan. The command line checks
// configurations with it, and actors and learners build from it. The computing half, with the same name, is an
// AlgorithmImplementation (common/rl/kit/algorithm.h).
struct AlgorithmDefinition {
  std::string description;  // One line.
  // The kinds of a single action that it can learn. With kMultiDiscrete its policy's choices are independent of each
  // other, so that it also takes several actions, of all kinds named here and multi-binary ones. With kBox it takes
  // several real actions.
  std::vector<SpaceKind> action_kinds;

  // True if it also takes one discrete action beside real ones; with kMultiDiscrete and kBox it does anyway.
  bool takes_choice_beside_reals = false;

  // True if it also learns for several agents at once; the above is then about the actions of each.
  bool takes_agents = false;

  // Options at their defaults.
  std::function<std::unique_ptr<AlgorithmOptions>()> new_options;

  // Puts the algorithm's own defaults into the other sections, before a file is read over them.
  std::function<void(Experiment* experiment)> defaults;

  // The plan; a pure function. INVALID_ARGUMENT if options of several sections contradict each other: one problem a
  // line, each behind its key ("algorithm.n_step: …").
  std::function<absl::StatusOr<AlgorithmPlan>(const AlgorithmOptions& options, const PlanContext& context)> plan;
};

// All algorithms, and the modules that change their batches.
struct AlgorithmDefinitions : public Registry<AlgorithmDefinition> {
  using Registry::Registry;
  ModuleDefinitions modules = ModuleDefinitions("module");
};

// A definition whose plan takes the algorithm's own options. The one place where these are cast.
template <class Options>
AlgorithmDefinition Define(std::string description, std::vector<SpaceKind> action_kinds,
                           std::function<void(Experiment* experiment)> defaults,
                           absl::StatusOr<AlgorithmPlan> (*plan)(const Options& options, const PlanContext& context)) {
  AlgorithmDefinition definition;
  definition.description = std::move(description);
  definition.action_kinds = std::move(action_kinds);
  definition.new_options = [] { return std::make_unique<Options>(); };
  definition.defaults = std::move(defaults);
  definition.plan = [plan](const AlgorithmOptions& options,
                           const PlanContext& context) -> absl::StatusOr<AlgorithmPlan> {
    const auto* const own = dynamic_cast<const Options*>(&options);
    if (own == nullptr) {
      return absl::InvalidArgumentError("algorithm: got another algorithm's options; wanted its own");
    }
    return plan(*own, context);
  };
  return definition;
}

}  // namespace waggle
