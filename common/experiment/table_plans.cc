#include "common/experiment/table_plans.h"

#include "absl/strings/str_cat.h"

namespace waggle {

std::string NextName(absl::string_view observation) {
  return absl::StrCat("next_", observation);
}

TablePlan TransitionTable(const PlanContext& context, int64_t n_step) {
  using Rows = ViewField::Rows;
  TablePlan plan;
  TableConfig& table = plan.table;
  plan.batch_size = context.learner.batch_size;
  table = context.replay.TableFor(plan.batch_size);
  table.name = "transitions";
  const auto add = [&table](const ArraySpec& column, Rows rows) {
    table.signature.push_back(column);
    table.view.push_back({column.name, column.name, rows});
  };
  for (const SpaceLeaf& leaf : context.environment.observations) {
    add(leaf.array, Rows::kFirst);
  }
  for (const SpaceLeaf& leaf : context.environment.actions) {
    add(leaf.array, Rows::kFirst);
  }
  for (const ArraySpec& reward : context.environment.rewards) {
    add(reward, Rows::kAll);
  }
  add(ArraySpec{kDiscount, DType::kFloat32, {}}, Rows::kAll);
  for (const SpaceLeaf& leaf : context.environment.observations) {
    table.view.push_back({NextName(leaf.array.name), leaf.array.name, Rows::kLast});
  }
  table.max_window = n_step + 1;
  plan.window.kind = WindowPlan::Kind::kNStep;
  plan.window.length = n_step + 1;
  return plan;
}

}  // namespace waggle
