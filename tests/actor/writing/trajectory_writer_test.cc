#include "actor/writing/trajectory_writer.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/actor/fakes.h"
#include "tests/actor/writer_streams.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

// Appends all rows, and hands over each block that is full.
void WriteAll(TrajectoryWriter* writer, const Streams& streams) {
  const size_t rows = streams[0].size();
  for (size_t t = 0; t < rows; ++t) {
    REQUIRE_OK(AppendRow(writer, streams, t));
    if (writer->BlockIsFull()) {
      REQUIRE_OK(writer->Flush(t, StopToken()));
    }
  }
  REQUIRE_OK(writer->Flush(rows, StopToken()));
}

TEST_CASE("blocks and items equal those of a slow reference for random episodes, plans and chunks", "[unit]") {
  const bool unrolls = GENERATE(false, true);
  Rng rng(8);
  for (int trial = 0; trial < 60; ++trial) {
    const int64_t lanes = 1 + static_cast<int64_t>(rng.UniformInt(6));
    const int64_t chunk_rows = 1 + static_cast<int64_t>(rng.UniformInt(20));
    const int64_t length = 2 + static_cast<int64_t>(rng.UniformInt(unrolls ? 12 : 6));
    const int64_t period = 1 + static_cast<int64_t>(rng.UniformInt(7));
    std::vector<TablePlan> plans = {
        PlanOf("steps", WindowPlan::Kind::kNStep, length, 1, NStepPriority),
        PlanOf("sequences", WindowPlan::Kind::kSequence, length + 2, period, SequencePriority),
        PlanOf("episodes", WindowPlan::Kind::kEpisode, 12, 1, nullptr)};
    if (unrolls) {
      // Windows of other tables stay within their episodes.
      plans = {PlanOf("overlapping", WindowPlan::Kind::kUnroll, length, length - 1, SequencePriority),
               PlanOf("apart", WindowPlan::Kind::kUnroll, length, length, nullptr),
               PlanOf("steps", WindowPlan::Kind::kNStep, 3, 1, NStepPriority)};
    }
    const Streams streams = RandomStreams(lanes, 90, 12, &rng);
    INFO("trial " << trial << ": " << lanes << " lanes, chunks of " << chunk_rows << ", windows of " << length);
    RecordingWriter sink;
    auto writer = ValueOf(TrajectoryWriter::Create(OptionsOf(lanes, chunk_rows, plans), &sink));
    for (size_t t = 0; t < 90; ++t) {
      REQUIRE_OK(AppendRow(writer.get(), streams, t));
      REQUIRE((unrolls || writer->BlockIsFull() == (writer->block_rows() == chunk_rows)));
      if (writer->BlockIsFull() || rng.UniformInt(10) == 0) {
        REQUIRE_OK(writer->Flush(t, StopToken()));
        REQUIRE(sink.blocks.back().policy_version == t);
      }
    }
    REQUIRE_OK(writer->Flush(90, StopToken()));
    REQUIRE_OK(writer->Flush(91, StopToken()));  // There is nothing left.
    REQUIRE(CheckRows(sink.blocks, streams, /*crosses_episodes=*/unrolls) == 90);
    const Items items = ItemsOf(sink.blocks);
    REQUIRE(items == ItemsByDefinition(plans, streams));
    REQUIRE(writer->items_written() == static_cast<int64_t>(items.size()));
  }
}

TEST_CASE("lanes out of step have the same rows and items as lanes in step", "[unit]") {
  Rng rng(18);
  for (int trial = 0; trial < 30; ++trial) {
    constexpr size_t kLanes = 4;
    constexpr size_t kRows = 80;
    const int64_t chunk_rows = 1 + static_cast<int64_t>(rng.UniformInt(12));
    const std::vector<TablePlan> plans = {PlanOf("steps", WindowPlan::Kind::kNStep, 4, 1, NStepPriority),
                                          PlanOf("sequences", WindowPlan::Kind::kSequence, 6, 3, SequencePriority)};
    const auto streams = RandomStreams(kLanes, kRows, 12, &rng);
    INFO("trial " << trial << ": chunks of " << chunk_rows);
    RecordingWriter together;
    auto writer = ValueOf(TrajectoryWriter::Create(OptionsOf(kLanes, chunk_rows, plans), &together));
    WriteAll(writer.get(), streams);

    RecordingWriter apart;
    writer = ValueOf(TrajectoryWriter::Create(OptionsOf(kLanes, chunk_rows, plans), &apart));
    std::vector<size_t> written(kLanes);
    while (std::any_of(written.begin(), written.end(), [](size_t rows) { return rows < kRows; })) {
      std::vector<int64_t> lanes;
      for (const size_t lane : {2, 0, 3, 1}) {
        // The first lane is a slow one.
        if (written[lane] < kRows && rng.UniformInt(10) < (lane == 0 ? 1 : 6)) {
          lanes.push_back(static_cast<int64_t>(lane));
        }
      }
      std::vector<size_t> given = written;  // Other lanes than `lanes` are not read.
      for (size_t& row : given) {
        row = std::min(row, kRows - 1);
      }
      REQUIRE_OK(writer->Append(lanes, LaneArrays(streams, given).rows));
      for (const int64_t lane : lanes) {
        ++written[static_cast<size_t>(lane)];
      }
      if (writer->BlockIsFull() || rng.UniformInt(20) == 0) {
        REQUIRE_OK(writer->Flush(1, StopToken()));
      }
    }
    REQUIRE_OK(writer->Flush(1, StopToken()));

    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      REQUIRE(StreamsOf(apart.blocks, FullSignature())[lane].rows ==
              StreamsOf(together.blocks, FullSignature())[lane].rows);
      uint64_t next_row = 0;
      for (const InsertBlock& block : apart.blocks) {
        int64_t rows = 0;
        for (const ChunkInfo& chunk : block.chunks) {
          if (chunk.stream != lane) {
            continue;
          }
          REQUIRE(chunk.rows > 0);
          REQUIRE(chunk.first_row == next_row);
          for (uint32_t i = 0; i < chunk.rows; ++i) {
            const bool first = streams[lane][next_row + i].step_type == 0;
            REQUIRE(first == (i == 0 && chunk.begins));
          }
          next_row += chunk.rows;
          rows += chunk.rows;
        }
        REQUIRE(rows <= chunk_rows);
      }
      REQUIRE(next_row == kRows);
    }
    REQUIRE(ItemsOf(apart.blocks) == ItemsByDefinition(plans, streams));
  }
}

TEST_CASE("items have the context rows that their table's stacks need, within the episode", "[unit]") {
  Rng rng(9);
  const auto streams = RandomStreams(3, 80, 12, &rng);
  TablePlan plain = PlanOf("plain", WindowPlan::Kind::kNStep, 3, 1, nullptr);
  TablePlan stacked = PlanOf("stacked", WindowPlan::Kind::kNStep, 3, 1, nullptr);
  stacked.table.view = {{"frames", kObservation, ViewField::Rows::kFirst, 4}};
  RecordingWriter sink;
  auto writer = ValueOf(TrajectoryWriter::Create(OptionsOf(3, 7, {plain, stacked}), &sink));
  WriteAll(writer.get(), streams);
  std::map<uint32_t, int> seen;  // By their number of context rows.
  for (const InsertBlock& block : sink.blocks) {
    for (const ItemInfo& item : block.items) {
      uint32_t before = 0;  // Rows of its episode.
      while (streams[item.stream][item.first_row - before].step_type != 0) {
        ++before;
      }
      REQUIRE(item.context_rows == (item.table == 0 ? 0 : std::min(3U, before)));
      ++seen[item.context_rows];
    }
  }
  REQUIRE(seen.size() == 4);
}

TEST_CASE("items have all rows of their episode if one of them may be the future one", "[unit]") {
  Rng rng(9);
  const auto streams = RandomStreams(2, 60, 12, &rng);
  TablePlan plan = PlanOf("t", WindowPlan::Kind::kNStep, 20, 1, nullptr);
  plan.table.view = {{"goal", kObservation, ViewField::Rows::kFuture}};
  plan.table.max_window = 20;
  plan.table.transition_rows = 2;
  plan.table.future_row = FutureRow::kEpisode;
  RecordingWriter sink;
  auto writer = ValueOf(TrajectoryWriter::Create(OptionsOf(2, 7, {plan}), &sink));
  WriteAll(writer.get(), streams);
  uint32_t most = 0;
  for (const InsertBlock& block : sink.blocks) {
    for (const ItemInfo& item : block.items) {
      REQUIRE(streams[item.stream][item.first_row - item.context_rows].step_type == 0);
      most = std::max(most, item.context_rows);
    }
  }
  REQUIRE(most > 2);
}

TEST_CASE("a lane's rows in a block are one chunk if a table is of unrolls, and it does not begin an episode",
          "[unit]") {
  Rng rng(3);
  const Streams streams = RandomStreams(3, 41, 4, &rng);  // Several episodes in a block.
  RecordingWriter sink;
  auto writer = ValueOf(
      TrajectoryWriter::Create(OptionsOf(3, 10, {PlanOf("t", WindowPlan::Kind::kUnroll, 6, 5, nullptr)}), &sink));
  WriteAll(writer.get(), streams);
  // A block ends with the row that completes an unroll in every lane.
  REQUIRE(sink.blocks.size() == 8);
  for (size_t i = 0; i < sink.blocks.size(); ++i) {
    const InsertBlock& block = sink.blocks[i];
    REQUIRE(block.items.size() == 3);
    std::set<uint32_t> lanes;
    for (const ChunkInfo& chunk : block.chunks) {
      lanes.insert(chunk.stream);
      REQUIRE(chunk.rows == (i == 0 ? 6 : 5));
      REQUIRE_FALSE(chunk.begins);
    }
    REQUIRE(lanes == std::set<uint32_t>{0, 1, 2});
    REQUIRE(block.chunks.size() == 3);
  }
}

TEST_CASE("stacks of unrolls are refused, as they would reach into other episodes", "[unit]") {
  TablePlan plan = PlanOf("t", WindowPlan::Kind::kUnroll, 6, 5, nullptr);
  plan.table.view = {{"frames", kObservation, ViewField::Rows::kAll, 4}};
  RecordingWriter sink;
  REQUIRE_CODE(TrajectoryWriter::Create(OptionsOf(1, 4, {plan}), &sink), absl::StatusCode::kInvalidArgument);
}

TEST_CASE("a table may have some of the columns, in its own order", "[unit]") {
  Rng rng(2);
  const auto streams = RandomStreams(2, 2, 5, &rng);
  TablePlan plan = PlanOf("t", WindowPlan::Kind::kNStep, 2, 1, nullptr);
  plan.table.signature = {FullSignature()[5], FullSignature()[2]};
  RecordingWriter sink;
  auto writer = ValueOf(TrajectoryWriter::Create(OptionsOf(2, 2, {plan}), &sink));
  REQUIRE_OK(AppendRow(writer.get(), streams, 0));
  REQUIRE_OK(AppendRow(writer.get(), streams, 1));
  REQUIRE_OK(writer->Flush(1, StopToken()));
  REQUIRE(sink.blocks.at(0).data.slices().size() == 1);
  const char* at = sink.blocks[0].data.slices()[0].data;
  for (const std::vector<Row>& stream : streams) {
    Expect(&at, stream[0].trace, 8);
    Expect(&at, stream[1].trace, 8);
  }
  for (const std::vector<Row>& stream : streams) {
    Expect(&at, &stream[0].reward, 4);
    Expect(&at, &stream[1].reward, 4);
  }
}

TEST_CASE("a block that was handed over does not change while the next ones are written", "[unit]") {
  Rng rng(5);
  const auto streams = RandomStreams(3, 60, 9, &rng);
  RecordingWriter sink;  // Keeps every block.
  auto writer = ValueOf(
      TrajectoryWriter::Create(OptionsOf(3, 4, {PlanOf("t", WindowPlan::Kind::kNStep, 3, 1, NStepPriority)}), &sink));
  WriteAll(writer.get(), streams);
  REQUIRE(CheckRows(sink.blocks, streams) == 60);
  writer.reset();
  REQUIRE(CheckRows(sink.blocks, streams) == 60);
}

TEST_CASE("large rows make blocks of fewer rows, but of at least one", "[unit]") {
  RecordingWriter sink;
  TrajectoryWriterOptions options = OptionsOf(2, 16, {PlanOf("t", WindowPlan::Kind::kNStep, 3, 1, nullptr)});
  options.max_block_bytes = 2 * 40 * 3 + 1;
  Rng rng(3);
  const auto streams = RandomStreams(2, 6, 5, &rng);
  auto writer = ValueOf(TrajectoryWriter::Create(options, &sink));
  for (size_t t = 0; t < 3; ++t) {
    REQUIRE_FALSE(writer->BlockIsFull());
    REQUIRE_OK(AppendRow(writer.get(), streams, t));
  }
  REQUIRE(writer->BlockIsFull());
  options.max_block_bytes = 1;
  writer = ValueOf(TrajectoryWriter::Create(options, &sink));
  REQUIRE_OK(AppendRow(writer.get(), streams, 0));
  REQUIRE(writer->BlockIsFull());
}

TEST_CASE("the writer's error is Flush's", "[unit]") {
  Rng rng(5);
  const auto streams = RandomStreams(1, 1, 9, &rng);
  RecordingWriter sink;
  sink.on_append = [](const StopToken&) { return absl::InvalidArgumentError("observation is nan"); };
  auto writer =
      ValueOf(TrajectoryWriter::Create(OptionsOf(1, 4, {PlanOf("t", WindowPlan::Kind::kNStep, 3, 1, nullptr)}), &sink));
  REQUIRE_OK(AppendRow(writer.get(), streams, 0));
  REQUIRE_CODE(writer->Flush(0, StopToken()), absl::StatusCode::kInvalidArgument);
  REQUIRE(writer->items_written() == 0);
}

TEST_CASE("an initial priority sees the transition alone, without rows for later goals", "[unit]") {
  Rng rng(5);
  const auto streams = RandomStreams(1, 40, 8, &rng);
  const auto rows = [](const WindowRow*, int64_t count) { return static_cast<double>(count); };
  TablePlan plan = PlanOf("t", WindowPlan::Kind::kNStep, 5, 1, rows);
  plan.table.max_window = 5;
  plan.table.transition_rows = 2;
  plan.table.view = {{"goal", kObservation, ViewField::Rows::kFuture}};
  RecordingWriter sink;
  auto writer = ValueOf(TrajectoryWriter::Create(OptionsOf(1, 4, {plan}), &sink));
  WriteAll(writer.get(), streams);
  uint32_t longest = 0;
  for (const InsertBlock& block : sink.blocks) {
    for (const ItemInfo& item : block.items) {
      CHECK(item.priority == 2);
      longest = std::max(longest, item.rows);
    }
  }
  CHECK(longest == 5);
}

TEST_CASE("a priority that is not finite or is negative is refused with its rows", "[unit]") {
  for (const double bad : {-1.0, static_cast<double>(NAN), static_cast<double>(INFINITY)}) {
    Rng rng(5);
    auto streams = RandomStreams(1, 2, 2, &rng);
    RecordingWriter sink;
    const auto priority = [bad](const WindowRow*, int64_t) { return bad; };
    auto writer = ValueOf(
        TrajectoryWriter::Create(OptionsOf(1, 4, {PlanOf("t", WindowPlan::Kind::kNStep, 3, 1, priority)}), &sink));
    REQUIRE_OK(AppendRow(writer.get(), streams, 0));
    const absl::Status status = AppendRow(writer.get(), streams, 1);
    REQUIRE_CODE(status, absl::StatusCode::kInvalidArgument);
    REQUIRE_THAT(std::string(status.message()), Catch::StartsWith("table t, lane 0, rows 0 to 1: "));
  }
}

TEST_CASE("items without an initial priority are inserted at the highest one of a table that picks by priorities",
          "[unit]") {
  Rng rng(5);
  const Streams streams = RandomStreams(2, 12, 4, &rng);
  const auto plan = [](SelectorKind sampler, InitialPriority priority) {
    TablePlan table = PlanOf("t", WindowPlan::Kind::kNStep, 3, 1, std::move(priority));
    table.table.sampler.kind = sampler;
    return table;
  };
  const auto is_highest = [&](std::vector<TablePlan> plans) {
    RecordingWriter sink;
    auto writer = ValueOf(TrajectoryWriter::Create(OptionsOf(2, 20, std::move(plans)), &sink));
    for (size_t t = 0; t < 12; ++t) {
      REQUIRE_OK(AppendRow(writer.get(), streams, t));
    }
    REQUIRE_OK(writer->Flush(1, StopToken()));
    REQUIRE(sink.blocks.size() == 1);
    REQUIRE_FALSE(sink.blocks[0].items.empty());
    return sink.blocks[0].highest_priority;
  };
  const TablePlan prioritized = plan(SelectorKind::kPrioritized, nullptr);
  const TablePlan own = plan(SelectorKind::kPrioritized, NStepPriority);
  const TablePlan uniform = plan(SelectorKind::kUniform, nullptr);
  CHECK(is_highest({prioritized}));
  CHECK(is_highest({prioritized, uniform}));
  CHECK_FALSE(is_highest({own}));
  CHECK_FALSE(is_highest({own, uniform}));
  CHECK_FALSE(is_highest({uniform}));
  // All items of a block have initial priorities, or none.
  RecordingWriter sink;
  REQUIRE_CODE(TrajectoryWriter::Create(OptionsOf(2, 20, {own, prioritized}), &sink),
               absl::StatusCode::kInvalidArgument);
}

TEST_CASE("step types that do not make episodes are refused with table and lane", "[unit]") {
  Rng rng(5);
  auto streams = RandomStreams(2, 1, 5, &rng);
  streams[1][0].step_type = 1;
  RecordingWriter sink;
  auto writer =
      ValueOf(TrajectoryWriter::Create(OptionsOf(2, 4, {PlanOf("t", WindowPlan::Kind::kNStep, 3, 1, nullptr)}), &sink));
  const absl::Status status = AppendRow(writer.get(), streams, 0);
  REQUIRE_CODE(status, absl::StatusCode::kInvalidArgument);
  REQUIRE_THAT(std::string(status.message()), Catch::StartsWith("table t, lane 1: row 0"));
}

TEST_CASE("options that contradict each other are refused", "[unit]") {
  const TablePlan plan = PlanOf("t", WindowPlan::Kind::kNStep, 3, 1, nullptr);
  TablePlan short_window = plan;
  short_window.table.max_window = 2;
  TablePlan unknown_column = plan;
  unknown_column.table.signature.push_back(ArraySpec{"logits", DType::kFloat32, {3}});
  TablePlan other_shape = plan;
  other_shape.table.signature[0].shape = {4};
  TrajectoryWriterOptions no_columns = OptionsOf(1, 4, {plan});
  no_columns.private_columns = -1;
  const std::pair<TrajectoryWriterOptions, const char*> cases[] = {
      {OptionsOf(0, 4, {plan}), "lanes: 0"},
      {OptionsOf(1, 0, {plan}), "chunk_rows: 0"},
      {OptionsOf(1, 4, {}), "plans: "},
      {OptionsOf(1, 4, {short_window}), "table t: window.length: got 3"},
      {OptionsOf(1, 4, {unknown_column}), "logits: float32[3]"},
      {OptionsOf(1, 4, {plan, unknown_column}), "table t"},
      {OptionsOf(1, 4, {other_shape}), "observation: float32[4]"},
      {no_columns, "private_columns: -1"},
  };
  for (const auto& [options, key] : cases) {
    RecordingWriter sink;
    const auto writer = TrajectoryWriter::Create(options, &sink);
    REQUIRE_CODE(writer, absl::StatusCode::kInvalidArgument);
    CHECK_THAT(std::string(writer.status().message()), Catch::Contains(key));
  }
}

}  // namespace
}  // namespace waggle::testing
