#include "common/rl/modules/intrinsic/definition.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/problems.h"

namespace waggle {

void IntrinsicOptions::Visit(ConfigVisitor& visitor) {
  visitor.Double("weight", &weight, In(0, 1e6).Live());
  visitor.Double("extrinsic_weight", &extrinsic_weight, In(0, 1e6).Live());
  visitor.Bool("normalize", &normalize);
  visitor.Section("optimizer", &optimizer);
}

void NoveltyOptions::Visit(ConfigVisitor& visitor) {
  visitor.Int("features", &features, In(1, 65'536));
  IntrinsicOptions::Visit(visitor);
}

std::string AllRowsName(const std::string& column) {
  return absl::StrCat("all_rows/", column);
}

absl::Status CheckScalarReward(const PlanContext& context) {
  const ArraySpec& reward = context.environment.rewards[0];
  return reward.shape.empty()
             ? absl::OkStatus()
             : absl::InvalidArgumentError(absl::StrCat("type: got an environment with ", reward.DebugString(),
                                                       "; wanted one whose reward is a scalar"));
}

absl::Status CheckBonus(const IntrinsicOptions& options, const PlanContext& context,
                        const std::vector<std::string>& networks) {
  Problems problems;
  problems.AddIfBad("", CheckScalarReward(context));
  problems.AddUnless(!options.normalize || context.learner.processes == 1, "normalize: got true, and each of ",
                     context.learner.processes,
                     " learners would divide bonuses by its own deviation; wanted false, or learner.processes: 1");
  problems.AddIfBad("", CheckNoCore(context, networks));
  return problems.ToStatus();
}

absl::Status CheckNoCore(const PlanContext& context, const std::vector<std::string>& networks) {
  Problems problems;
  for (const std::string& name : networks) {
    const auto spec = context.networks.find(name);
    problems.AddUnless(spec == context.networks.end() || spec->second.core.type == "none",
                       "type: got a core in networks.", name,
                       "; wanted the type none, because the module learns from single steps");
  }
  return problems.ToStatus();
}

void ShowAllRows(const std::vector<SpaceLeaf>& leaves, AlgorithmPlan* plan) {
  for (TablePlan& table : plan->tables) {
    // Two rows are visible as the ends of their window.
    if (table.window.kind != WindowPlan::Kind::kNStep || table.table.SampledRows() == 2) {
      continue;
    }
    std::vector<ViewField>& view = table.table.view;
    for (const SpaceLeaf& leaf : leaves) {
      const std::string name = AllRowsName(leaf.array.name);
      // Another module may have added it.
      if (std::none_of(view.begin(), view.end(), [&name](const ViewField& field) { return field.name == name; })) {
        view.push_back({name, leaf.array.name, ViewField::Rows::kAll});
      }
    }
  }
}

}  // namespace waggle
