#include "common/config/experiment/table_plans.h"

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/config/experiment/family_defaults.h"
#include "tests/common/config/experiment/fake_algorithm.h"
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
  const TablePlan plan = TransitionTable({environment, {}, replay, learner}, 3);
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

using QueueOf = absl::StatusOr<TablePlan>(const PlanContext&, const AlgorithmPlan&, int64_t);

// The table of an algorithm that learns from unrolls of five steps, or from episodes of at most five.
absl::StatusOr<TablePlan> Planned(QueueOf queue_of, const ReplayOptions& replay,
                                  std::optional<int64_t> rows_per_version) {
  EnvironmentSpec environment = testing::FakeEnvironmentSpec();
  environment.observations = {Box("observation/a", DType::kUint8, {3}), Box("observation/b", DType::kFloat32, {})};
  LearnerOptions learner;
  learner.batch_size = 9;
  AlgorithmPlan algorithm;
  algorithm.columns = {NumberColumn("log_prob")};
  algorithm.rows_per_version = rows_per_version;
  return queue_of({environment, {}, replay, learner}, algorithm, 5);
}

void CheckIsQueueOfAllColumns(const TablePlan& plan, double max_items) {
  REQUIRE_OK(plan.table.Validate());
  CHECK(plan.batch_size == 9);
  REQUIRE_OK(plan.table.CheckBatchSize(9));
  CHECK(DebugString(plan.table.signature) ==
        "[observation/a: uint8[3], observation/b: float32[], action: int64[], reward: float32[], discount: float32[], "
        "step_type: int32[], log_prob: float32[]]");
  REQUIRE(plan.table.view.size() == plan.table.signature.size());
  for (size_t i = 0; i < plan.table.view.size(); ++i) {
    CHECK(plan.table.view[i].name == plan.table.signature[i].name);
    CHECK(plan.table.view[i].column == plan.table.signature[i].name);
    CHECK(plan.table.view[i].rows == ViewField::Rows::kAll);
  }
  CHECK(plan.table.sampler.kind == SelectorKind::kFifo);
  CHECK(plan.table.remover.kind == SelectorKind::kFifo);
  CHECK(plan.table.max_times_sampled == 1);
  CHECK(static_cast<double>(plan.table.max_items) == max_items);
  CHECK(plan.table.rate_limiter.min_difference == 0);
  CHECK(plan.table.rate_limiter.max_difference == max_items);
}

TEST_CASE("unrolls and episodes have every column in all rows, and one row more than steps", "[unit]") {
  ReplayOptions replay = OnPolicyReplay();
  replay.table.max_items = 77;
  for (const auto& [queue_of, kind] : {std::make_pair<QueueOf*>(UnrollTable, WindowPlan::Kind::kUnroll),
                                       std::make_pair<QueueOf*>(EpisodeTable, WindowPlan::Kind::kEpisode)}) {
    const TablePlan plan = testing::ValueOf(Planned(*queue_of, replay, 5));
    CheckIsQueueOfAllColumns(plan, 77);
    CHECK(plan.window.kind == kind);
    CHECK(plan.window.length == 6);
    CHECK(plan.table.max_window == 6);
  }
}

TEST_CASE("a sequence has every column in all rows, and is sampled as the replay section says", "[unit]") {
  const EnvironmentSpec environment = testing::FakeEnvironmentSpec();
  ReplayOptions replay;
  replay.table.max_items = 7'777;
  LearnerOptions learner;
  learner.batch_size = 9;
  AlgorithmPlan algorithm;
  algorithm.columns = {NumberColumn("value")};
  const TablePlan plan = SequenceTable({environment, {}, replay, learner}, algorithm, 5, 3);
  REQUIRE_OK(plan.table.Validate());
  CHECK(plan.batch_size == 9);
  CHECK(plan.table.max_items == 7'777);
  CHECK(plan.table.sampler.kind == SelectorKind::kPrioritized);
  CHECK(plan.window.kind == WindowPlan::Kind::kSequence);
  // Three steps of burn-in, five that are learned from, and the row that the last one led to.
  CHECK(plan.window.length == 9);
  CHECK(plan.window.period == 5);
  CHECK(plan.table.max_window == 9);
  CHECK(plan.table.signature.back().name == "value");
  REQUIRE(plan.table.view.size() == plan.table.signature.size());
  for (const ViewField& field : plan.table.view) {
    CHECK(field.rows == ViewField::Rows::kAll);
  }
}

TEST_CASE("unrolls share a row unless the actors wait after each", "[unit]") {
  CHECK(testing::ValueOf(Planned(UnrollTable, OnPolicyReplay(), std::nullopt)).window.period == 5);
  CHECK(testing::ValueOf(Planned(UnrollTable, OnPolicyReplay(), 5)).window.period == 6);
}

TEST_CASE("a replay section that does not make a queue is refused by its key", "[unit]") {
  using Change = std::function<void(TableConfig*)>;
  const std::vector<std::pair<std::string, Change>> changes = {
      {"sampler", [](TableConfig* table) { table->sampler.kind = SelectorKind::kUniform; }},
      {"remover", [](TableConfig* table) { table->remover.kind = SelectorKind::kLifo; }},
      {"max_times_sampled", [](TableConfig* table) { table->max_times_sampled = 2; }},
      {"rate_limiter", [](TableConfig* table) { table->rate_limiter.samples_per_insert = 2; }},
      {"rate_limiter", [](TableConfig* table) { table->rate_limiter.min_items = 10; }},
      {"rate_limiter", [](TableConfig* table) { table->rate_limiter.error_buffer = 10; }},
      {"rate_limiter", [](TableConfig* table) { table->rate_limiter.min_difference = 0; }},
      {"rate_limiter", [](TableConfig* table) { table->rate_limiter.max_difference = 8; }}};
  for (const auto& [key, change] : changes) {
    ReplayOptions replay = OnPolicyReplay();
    change(&replay.table);
    for (QueueOf* const queue_of : {UnrollTable, EpisodeTable}) {
      const absl::Status status = Planned(queue_of, replay, std::nullopt).status();
      REQUIRE_CODE(status, absl::StatusCode::kInvalidArgument);
      CHECK(status.message() ==
            "replay." + key + ": a queue's items are learned from once, in their order; wanted none");
    }
  }
}

}  // namespace
}  // namespace waggle
