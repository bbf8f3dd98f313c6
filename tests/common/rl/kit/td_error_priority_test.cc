#include "common/rl/kit/td_error_priority.h"

#include <cmath>
#include <limits>

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("a window starts with its n-step TD error by the weights that acted", "[unit]") {
  const InitialPriority priority = TdErrorPriority(0.5);
  // By row: the value of the taken action, then of the best one.
  const float q[3][2] = {{2, 3}, {9, 9}, {7, 8}};
  WindowRow rows[3] = {{1, 1, q[0]}, {4, 1, q[1]}, {100, 100, q[2]}};
  // 1 + 0.5 * 4 + 0.25 * 8 - 2 = 3.
  CHECK(priority(rows, 3) == Approx(3));
  // After a truncation the last row's value counts.
  CHECK(priority(rows, 2) == Approx(std::abs(1 + 0.5 * 9 - 2)));
  // After a terminal state it does not.
  const float broken[2] = {0, std::numeric_limits<float>::infinity()};
  rows[1].discount = 0;
  rows[2].extras = broken;
  CHECK(priority(rows, 3) == Approx(1));
}

TEST_CASE("windows have a priority and actors compute values if the table picks anything by priority", "[unit]") {
  const auto plan_with = [](SelectorKind sampler, SelectorKind remover) {
    ReplayOptions replay;
    replay.table.sampler.kind = sampler;
    replay.table.remover.kind = remover;
    AlgorithmPlan plan;
    plan.tables.resize(1);
    StartWith(TdErrorPriority(1), PlanContext{EnvironmentSpec(), {}, replay, LearnerOptions()}, &plan);
    CHECK(plan.private_columns.empty() == (plan.tables[0].initial_priority == nullptr));
    return plan;
  };
  const AlgorithmPlan plan = plan_with(SelectorKind::kPrioritized, SelectorKind::kFifo);
  REQUIRE(plan.tables[0].initial_priority != nullptr);
  CHECK(plan.private_columns == std::vector<std::string>{"q_taken", "q_max"});
  CHECK(plan_with(SelectorKind::kUniform, SelectorKind::kFifo).tables[0].initial_priority == nullptr);
  CHECK(plan_with(SelectorKind::kUniform, SelectorKind::kMinHeap).tables[0].initial_priority != nullptr);
}

}  // namespace
}  // namespace waggle
