#include "common/experiment/table_plans.h"

#include "tests/common/experiment/fake_algorithm.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("a transition has every leaf at both ends, the action, and all rewards in between", "[unit]") {
  EnvironmentSpec environment = testing::FakeEnvironmentSpec();
  environment.observations = {Box("observation/a", DType::kUint8, {3}), Box("observation/b", DType::kFloat32, {})};
  ReplayOptions replay;
  replay.table.max_items = 77;
  replay.table.rate_limiter.min_items = 1;
  LearnerOptions learner;
  learner.batch_size = 9;
  const TablePlan plan = TransitionTable({environment, replay, learner}, 3);
  REQUIRE_OK(plan.table.Validate());
  CHECK(plan.table.max_items == 77);
  CHECK(plan.batch_size == 9);
  CHECK(plan.window.kind == WindowPlan::Kind::kNStep);
  CHECK(plan.window.length == 4);
  CHECK(plan.table.max_window == 4);
  CHECK(DebugString(plan.table.signature) ==
        "[observation/a: uint8[3], observation/b: float32[], action: int64[], reward: float32[], discount: float32[]]");
  using Rows = ViewField::Rows;
  const std::vector<std::pair<std::string, Rows>> wanted = {
      {"observation/a", Rows::kFirst},    {"observation/b", Rows::kFirst},
      {"action", Rows::kFirst},           {"reward", Rows::kAll},
      {"discount", Rows::kAll},           {"next_observation/a", Rows::kLast},
      {"next_observation/b", Rows::kLast}};
  REQUIRE(plan.table.view.size() == wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    CHECK(plan.table.view[i].name == wanted[i].first);
    CHECK(plan.table.view[i].rows == wanted[i].second);
  }
}

}  // namespace
}  // namespace waggle
