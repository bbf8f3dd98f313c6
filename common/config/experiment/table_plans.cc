#include "common/config/experiment/table_plans.h"

#include "absl/strings/str_cat.h"
#include "common/base/problems.h"
#include "common/base/status_macros.h"
#include "common/config/experiment/family_defaults.h"

namespace waggle {
namespace {

// Refuses settings that a queue cannot have.
absl::Status CheckQueue(const TableConfig& table) {
  const TableConfig defaults = OnPolicyReplay().table;
  constexpr char kReason[] = ": a queue's items are learned from once, in their order; wanted none";
  Problems problems;
  const auto check = [&](const char* key, bool is_queue) { problems.AddUnless(is_queue, "replay.", key, kReason); };
  check("sampler", table.sampler.kind == defaults.sampler.kind);
  check("remover", table.remover.kind == defaults.remover.kind);
  check("max_times_sampled", table.max_times_sampled == defaults.max_times_sampled);
  const RateLimiterConfig& limiter = table.rate_limiter;
  check("rate_limiter", limiter.samples_per_insert == defaults.rate_limiter.samples_per_insert &&
                            limiter.min_items == defaults.rate_limiter.min_items && limiter.error_buffer == 0 &&
                            !limiter.min_difference.has_value() && !limiter.max_difference.has_value());
  return problems.ToStatus();
}

// Every leaf of the environment, discounts, step types and the algorithm's columns, in all rows of a window.
void AddAllColumns(const PlanContext& context, const AlgorithmPlan& algorithm, TableConfig* table) {
  std::vector<ArraySpec> columns = ArraysOf(context.environment.observations);
  const auto append = [&columns](const std::vector<ArraySpec>& more) {
    columns.insert(columns.end(), more.begin(), more.end());
  };
  append(ArraysOf(context.environment.actions));
  append(context.environment.rewards);
  append({ArraySpec{kDiscount, DType::kFloat32, {}}, ArraySpec{kStepType, DType::kInt32, {}}});
  append(algorithm.columns);
  for (const ArraySpec& column : columns) {
    table->signature.push_back(column);
    table->view.push_back({column.name, column.name, ViewField::Rows::kAll});
  }
}

// A queue of windows of the stream, with every column in all rows.
absl::StatusOr<TablePlan> Queue(const char* name, const PlanContext& context, const AlgorithmPlan& algorithm,
                                const WindowPlan& window) {
  WAGGLE_RETURN_IF_ERROR(CheckQueue(context.replay.table));
  TablePlan plan;
  TableConfig& table = plan.table;
  plan.batch_size = context.learner.batch_size;
  plan.window = window;
  table = context.replay.table;
  MakeQueue(table.max_items, &table);
  table.name = name;
  table.max_window = window.length;
  AddAllColumns(context, algorithm, &table);
  return plan;
}

}  // namespace

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

TablePlan SequenceTable(const PlanContext& context, const AlgorithmPlan& algorithm, int64_t steps, int64_t burn_in) {
  TablePlan plan;
  plan.batch_size = context.learner.batch_size;
  plan.window = {WindowPlan::Kind::kSequence, burn_in + steps + 1, steps};
  plan.table = context.replay.TableFor(plan.batch_size);
  plan.table.name = "sequences";
  plan.table.max_window = plan.window.length;
  AddAllColumns(context, algorithm, &plan.table);
  return plan;
}

absl::StatusOr<TablePlan> UnrollTable(const PlanContext& context, const AlgorithmPlan& algorithm, int64_t steps) {
  const int64_t period = algorithm.rows_per_version.has_value() ? steps + 1 : steps;
  return Queue("unrolls", context, algorithm, {WindowPlan::Kind::kUnroll, steps + 1, period});
}

absl::StatusOr<TablePlan> EpisodeTable(const PlanContext& context, const AlgorithmPlan& algorithm,
                                       int64_t longest_episode) {
  return Queue("episodes", context, algorithm, {WindowPlan::Kind::kEpisode, longest_episode + 1});
}

}  // namespace waggle
