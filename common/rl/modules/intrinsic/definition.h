#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/config/experiment/module_definition.h"
#include "common/config/plan/optimizer_options.h"
#include "common/config/spec/space_leaf.h"

namespace waggle {

// The options that all modules of bonuses have. A step's reward becomes
// extrinsic_weight * reward + weight * bonus.
struct IntrinsicOptions : public ModuleOptions {
  double weight = 1;
  double extrinsic_weight = 1;  // 0: it learns from the bonus alone.
  // Bonuses are divided by the deviation of all bonuses so far, so that their size does not depend on networks.
  bool normalize = true;
  OptimizerOptions optimizer;

  void Visit(ConfigVisitor& visitor) override;
  absl::Status Validate() const override { return absl::OkStatus(); }
};

// The same for bonuses of novelty.
struct NoveltyOptions : public IntrinsicOptions {
  int64_t features = 64;  // Width of the features in which novelty is measured.

  void Visit(ConfigVisitor& visitor) override;
};

// INVALID_ARGUMENT if the environment's reward is a vector, which the module cannot change.
absl::Status CheckScalarReward(const PlanContext& context);

// INVALID_ARGUMENT, one problem a line, if the reward is a vector, one of these networks of the module has a core, or
// each of several learners would normalise bonuses by its own.
absl::Status CheckBonus(const IntrinsicOptions& options, const PlanContext& context,
                        const std::vector<std::string>& networks);

// INVALID_ARGUMENT if one of these networks of a module has a core.
absl::Status CheckNoCore(const PlanContext& context, const std::vector<std::string>& networks);

// Makes columns visible to a module in all rows of a window, in tables that show only the ends of several steps.
void ShowAllRows(const std::vector<SpaceLeaf>& leaves, AlgorithmPlan* plan);

// The field that ShowAllRows adds for a column.
std::string AllRowsName(const std::string& column);

}  // namespace waggle
