#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/registry.h"
#include "common/config/config_visitor.h"
#include "common/experiment/sections.h"
#include "common/plan/table_plan.h"
#include "common/spec/environment_spec.h"

namespace waggle {

// An algorithm's own part of the `algorithm:` section.
class AlgorithmOptions {
 public:
  virtual ~AlgorithmOptions() = default;
  virtual void Visit(ConfigVisitor& visitor) = 0;
  virtual absl::Status Validate() const = 0;
};

// How many arrays of the size of its network's parameters, in float32, a learner keeps.
struct LearnerArrays {
  int64_t all = 2;    // The values and their gradients, and what there is beside them: targets, the optimizer's state.
  int64_t saved = 1;  // Those that a checkpoint has.
};

// What can be said of an algorithm without a tensor library: its facts, its options, the tables it wants. The command
// line checks configurations with it, and actors and learners make their tables from it. The computing half, with the
// same name, is an AlgorithmImplementation (common/rl/algorithm.h).
struct AlgorithmDefinition {
  std::string description;              // One line.
  std::vector<SpaceKind> action_kinds;  // That it can learn.
  std::vector<std::string> head_types;  // Network heads that it can use; the first is the default.

  // Options at their defaults.
  std::function<std::unique_ptr<AlgorithmOptions>()> new_options;

  // For estimates of memory; a pure function.
  std::function<LearnerArrays(const AlgorithmOptions& options)> learner_arrays;

  // Its tables, made from replay.TableFor(learner.batch_size); a pure function. INVALID_ARGUMENT where options of
  // several sections contradict each other: one problem a line, each behind its key ("algorithm.n_step: …").
  std::function<absl::StatusOr<std::vector<TablePlan>>(const AlgorithmOptions& options,
                                                       const EnvironmentSpec& environment, const ReplayOptions& replay,
                                                       const LearnerOptions& learner)>
      plan_tables;
};

using AlgorithmDefinitions = Registry<AlgorithmDefinition>;

}  // namespace waggle
