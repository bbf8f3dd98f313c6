#include "common/rl/modules/intrinsic/definition.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"

namespace waggle {

void IntrinsicOptions::Visit(ConfigVisitor& visitor) {
  visitor.Double("weight", &weight, In(0, 1e6).Live());
  visitor.Double("extrinsic_weight", &extrinsic_weight, In(0, 1e6).Live());
  visitor.Bool("normalize", &normalize);
  visitor.Int("features", &features, In(1, 65'536));
  visitor.Section("optimizer", &optimizer);
}

std::string AllRowsName(const std::string& column) {
  return absl::StrCat("all_rows/", column);
}

absl::Status ShowAllSteps(const PlanContext& context, AlgorithmPlan* plan) {
  if (NumRewards(context.environment.rewards) != 1) {
    return absl::InvalidArgumentError(absl::StrCat("type: environment ", context.environment.name, " has ",
                                                   NumRewards(context.environment.rewards),
                                                   " rewards; wanted one, to which a bonus is added"));
  }
  for (TablePlan& table : plan->tables) {
    std::vector<ViewField>& view = table.table.view;
    const std::string first = AllRowsName(context.environment.observations[0].array.name);
    const bool shows =
        std::any_of(view.begin(), view.end(), [&first](const ViewField& field) { return field.name == first; });
    // Two rows are visible as the ends of their window. Another module may have added all rows.
    if (table.window.kind != WindowPlan::Kind::kNStep || table.table.SampledRows() == 2 || shows) {
      continue;
    }
    for (const auto* leaves : {&context.environment.observations, &context.environment.actions}) {
      for (const SpaceLeaf& leaf : *leaves) {
        view.push_back({AllRowsName(leaf.array.name), leaf.array.name, ViewField::Rows::kAll});
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace waggle
