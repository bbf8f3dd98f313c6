#include "actor/importing/episode_importer.h"

#include <functional>
#include <limits>
#include <memory>

#include "common/config/experiment/table_plans.h"
#include "tests/actor/fakes.h"
#include "tests/actor/importing/scripted_episodes.h"
#include "tests/actor/recording/recorded_rows.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::ColumnOf;
using testing::RecordingWriter;
using testing::ScriptedEpisodes;
using testing::ScriptedRow;
using testing::ScriptedRows;
using testing::ScriptedSpec;
using testing::ValueOf;

TablePlan PlanOf(int64_t n_step) {
  const EnvironmentSpec environment = ScriptedSpec();
  const std::map<std::string, NetworkSpec> networks;
  ReplayOptions replay;
  replay.table.sampler.kind = SelectorKind::kUniform;
  const LearnerOptions learner;
  TablePlan plan = TransitionTable({environment, networks, replay, learner}, n_step);
  return plan;
}

TEST_CASE("imported episodes become the rows and items that an actor would have written", "[unit]") {
  ScriptedEpisodes source(ScriptedRows({4, 1, 7}));
  REQUIRE_OK(CheckSource(source, ScriptedSpec()));
  const RecordedCounts counts = ValueOf(CheckEpisodes(&source, ScriptedSpec(), StopToken()));
  CHECK(counts.episodes == 3);
  CHECK(counts.steps == 12);

  RecordingWriter sink;
  TrajectoryWriterOptions options;
  options.lanes = 2;
  options.environment = ScriptedSpec();
  options.plans = {PlanOf(2)};
  options.chunk_rows = 4;
  const auto writer = ValueOf(TrajectoryWriter::Create(options, &sink));
  REQUIRE_OK(ImportEpisodes(&source, ScriptedSpec(), 2, writer.get(), StopToken()));
  size_t items = 0;
  std::map<float, int> seen;
  for (const InsertBlock& block : sink.blocks) {
    CHECK(block.highest_priority == false);
    for (const ItemInfo& item : block.items) {
      CHECK(item.rows >= 2);
      CHECK(item.rows <= 3);
      ++items;
    }
  }
  CHECK(items == 12);
  const std::vector<ArraySpec>& signature = options.plans[0].table.signature;
  const auto observations = ColumnOf<float>(sink.blocks, signature, "observation");
  const auto actions = ColumnOf<int64_t>(sink.blocks, signature, "action");
  const auto rewards = ColumnOf<float>(sink.blocks, signature, "reward");
  REQUIRE(observations.size() == 15);
  for (size_t row = 0; row < observations.size(); ++row) {
    ++seen[observations[row]];
    CHECK(actions[row] == static_cast<int64_t>(observations[row]) % 3);
    CHECK(rewards[row] == 10 * observations[row]);
  }
  CHECK(seen.size() == 15);
  // Episodes go to the lanes in turns: 4 and 7 steps to the first, 1 to the second.
  int64_t rows_of_second = 0;
  for (const InsertBlock& block : sink.blocks) {
    for (const ChunkInfo& chunk : block.chunks) {
      rows_of_second += chunk.stream == 1 ? chunk.rows : 0;
    }
  }
  CHECK(rows_of_second == 2);
}

TEST_CASE("an import ends with a stop", "[unit]") {
  ScriptedEpisodes source(ScriptedRows({4}));
  RecordingWriter sink;
  sink.on_append = [](const StopToken& stop) {
    return stop.StopRequested() ? absl::CancelledError("stopped") : absl::OkStatus();
  };
  TrajectoryWriterOptions options;
  options.lanes = 1;
  options.environment = ScriptedSpec();
  options.plans = {PlanOf(1)};
  const auto writer = ValueOf(TrajectoryWriter::Create(options, &sink));
  const StopToken stop;
  stop.RequestStop();
  REQUIRE_CODE(ImportEpisodes(&source, ScriptedSpec(), 1, writer.get(), stop), absl::StatusCode::kCancelled);
}

TEST_CASE("recorded episodes of other spaces are refused, each leaf by its name", "[unit]") {
  ScriptedEpisodes source(ScriptedRows({4}));
  EnvironmentSpec environment = ScriptedSpec();
  environment.observations = {Box("observation", DType::kFloat32, {2})};
  CHECK_THAT(std::string(CheckSource(source, environment).message()),
             Catch::Contains("got observation: float32[1]; wanted observation: float32[2]"));
  environment.observations = {Box("observation/camera", DType::kFloat32, {1})};
  CHECK_THAT(std::string(CheckSource(source, environment).message()),
             Catch::Contains("it has no column observation/camera"));
  // The number of choices is no fact of a column.
  EnvironmentSpec recorded = ScriptedSpec();
  recorded.actions = {Discrete("action", 4)};
  source.SetEnvironment(recorded);
  CHECK_THAT(std::string(CheckSource(source, ScriptedSpec()).message()), Catch::Contains("4"));
  recorded = ScriptedSpec();
  recorded.name = "another name";
  recorded.observations = {Box("observation", DType::kFloat32, {1}, -5, 5)};
  source.SetEnvironment(recorded);
  REQUIRE_OK(CheckSource(source, ScriptedSpec()));
}

TEST_CASE("recorded rows that no environment gives are refused, with their number", "[unit]") {
  struct Case {
    std::function<void(std::vector<ScriptedRow>*)> change;
    const char* message;
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<Case> cases = {
      {[](auto* rows) { rows->pop_back(); }, "its last episode, number 1, has no end"},
      {[](auto* rows) { rows->clear(); }, "it has no episodes"},
      {[nan](auto* rows) { (*rows)[6].reward = nan; }, "row 6, of episode 1: reward: got a number that is not finite"},
      {[nan](auto* rows) { (*rows)[9].observation = nan; }, "row 9, of episode 1: observation[0]: got"},
      {[](auto* rows) { (*rows)[3].action = 3; }, "row 3, of episode 0: action: got 3"},
      {[](auto* rows) { (*rows)[3].discount = 2; }, "row 3, of episode 0: discount: got 2"},
      {[](auto* rows) { (*rows)[3].type = StepType::kFirst; }, "row 3, of episode 0: step_type: got 0"},
      {[](auto* rows) { (*rows)[5].type = StepType::kMid; }, "row 5, of episode 1: step_type: got 1"},
      {[](auto* rows) { (*rows)[2].type = static_cast<StepType>(7); }, "row 2, of episode 0: step_type: got 7"},
  };
  for (const Case& one : cases) {
    std::vector<ScriptedRow> rows = ScriptedRows({4, 4});
    one.change(&rows);
    ScriptedEpisodes source(rows);
    const absl::Status status = CheckEpisodes(&source, ScriptedSpec(), StopToken()).status();
    CHECK(absl::IsInvalidArgument(status));
    CHECK_THAT(std::string(status.message()), Catch::Contains(one.message));
  }
}

}  // namespace
}  // namespace waggle
