#include "actor/trajectory_writer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <tuple>

#include "common/base/random.h"
#include "tests/actor/fakes.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::CountingEnvironment;
using testing::RecordingWriter;
using testing::ValueOf;

// A row as plainly as can be.
struct Row {
  float observation[3] = {};
  int64_t action = 0;
  float reward = 0;
  float discount = 0;
  int32_t step_type = 0;
  float trace[2] = {};
  float extras[2] = {};
};

// Random episodes in each of a number of lanes, all with equally many rows; rows by lane.
std::vector<std::vector<Row>> RandomStreams(int64_t lanes, int64_t rows, int64_t max_episode_rows, Rng* rng) {
  std::vector<std::vector<Row>> streams(static_cast<size_t>(lanes));
  const auto any = [rng] { return static_cast<float>(rng->Uniform(-5, 5)); };
  for (std::vector<Row>& stream : streams) {
    int64_t left = 0;
    for (int64_t t = 0; t < rows; ++t) {
      Row row;
      const bool first = left == 0;
      if (first) {
        left = 2 + static_cast<int64_t>(rng->UniformInt(static_cast<uint64_t>(max_episode_rows - 1)));
      }
      --left;
      row.step_type = static_cast<int32_t>(first ? StepType::kFirst : left == 0 ? StepType::kLast : StepType::kMid);
      for (float* value : {&row.observation[0], &row.observation[1], &row.observation[2], &row.reward, &row.discount,
                           &row.trace[0], &row.trace[1], &row.extras[0], &row.extras[1]}) {
        *value = any();
      }
      row.action = static_cast<int64_t>(rng->UniformInt(3));
      stream.push_back(row);
    }
  }
  return streams;
}

// A row of every lane, as the writer is given them.
struct LaneArrays {
  LaneArrays(const std::vector<std::vector<Row>>& streams, const std::vector<size_t>& by_lane) {
    for (size_t lane = 0; lane < streams.size(); ++lane) {
      const Row& row = streams[lane].at(by_lane[lane]);
      observations.insert(observations.end(), row.observation, row.observation + 3);
      actions.push_back(row.action);
      rewards.push_back(row.reward);
      discounts.push_back(row.discount);
      step_types.push_back(row.step_type);
      trace.insert(trace.end(), row.trace, row.trace + 2);
      extras.insert(extras.end(), row.extras, row.extras + 2);
    }
    columns = {trace.data()};
    observation_arrays = {observations.data()};
    action_arrays = {actions.data()};
    reward_arrays = {rewards.data()};
    rows.observations = observation_arrays;
    rows.actions = action_arrays;
    rows.rewards = reward_arrays;
    rows.discounts = discounts.data();
    rows.step_types = step_types.data();
    rows.policy_columns = columns;
    rows.private_values = extras.data();
  }
  LaneArrays(const LaneArrays&) = delete;

  std::vector<float> observations, rewards, discounts, trace, extras;
  std::vector<int64_t> actions;
  std::vector<int32_t> step_types;
  std::vector<void*> columns;
  std::vector<const void*> observation_arrays, action_arrays;
  std::vector<const float*> reward_arrays;
  LaneRows rows;
};

double NStepPriority(const WindowRow* rows, int64_t count) {
  double total = rows[count - 1].extras[1];
  for (int64_t i = count - 2; i >= 0; --i) {
    total = rows[i].reward + rows[i].discount * total;
  }
  return std::abs(total - rows[0].extras[0]);
}

double SequencePriority(const WindowRow* rows, int64_t count) {
  double largest = 0;
  for (int64_t i = 0; i < count; ++i) {
    largest = std::max(largest, static_cast<double>(std::abs(rows[i].reward)));
  }
  return largest + static_cast<double>(count);
}

const std::vector<ArraySpec>& FullSignature() {
  static const std::vector<ArraySpec> signature =
      StreamColumns(CountingEnvironment(10, 0).spec(), {ArraySpec{"trace", DType::kFloat32, {2}}});
  return signature;
}

TablePlan PlanOf(const std::string& name, WindowPlan::Kind kind, int64_t length, int64_t period,
                 InitialPriority priority) {
  TablePlan plan;
  plan.table.name = name;
  plan.table.signature = FullSignature();
  plan.table.max_window = length;
  plan.window = WindowPlan{kind, length, period};
  plan.initial_priority = std::move(priority);
  return plan;
}

TrajectoryWriterOptions OptionsOf(int64_t lanes, int64_t chunk_rows, std::vector<TablePlan> plans) {
  TrajectoryWriterOptions options;
  options.lanes = lanes;
  options.environment = CountingEnvironment(10, 0).spec();
  options.policy_columns = {ArraySpec{"trace", DType::kFloat32, {2}}};
  options.private_columns = 2;
  options.plans = std::move(plans);
  options.chunk_rows = chunk_rows;
  return options;
}

// (table, stream, first row, rows) -> priority.
using Items = std::map<std::tuple<uint32_t, uint32_t, uint64_t, uint32_t>, double>;

double PriorityOf(const TablePlan& plan, const std::vector<Row>& stream, size_t first, size_t count) {
  if (!plan.initial_priority) {
    return 1;
  }
  std::vector<WindowRow> rows;
  for (size_t i = first; i < first + count; ++i) {
    rows.push_back(WindowRow{stream[i].reward, stream[i].discount, stream[i].extras});
  }
  return plan.initial_priority(rows.data(), static_cast<int64_t>(count));
}

// All items of all streams, episode by episode, by the plans' definitions.
Items ItemsByDefinition(const std::vector<TablePlan>& plans, const std::vector<std::vector<Row>>& streams) {
  Items items;
  for (uint32_t table = 0; table < plans.size(); ++table) {
    const WindowPlan& window = plans[table].window;
    for (uint32_t lane = 0; lane < streams.size(); ++lane) {
      const std::vector<Row>& stream = streams[lane];
      const auto add = [&](size_t first, size_t count) {
        items[{table, lane, first, static_cast<uint32_t>(count)}] = PriorityOf(plans[table], stream, first, count);
      };
      for (size_t begin = 0; begin < stream.size();) {
        size_t end = begin;  // The episode is [begin, end).
        while (end < stream.size() && (end == begin || stream[end].step_type != 0)) {
          ++end;
        }
        const bool ended = stream[end - 1].step_type == 2;
        const size_t length = static_cast<size_t>(window.length);
        const size_t period = window.kind == WindowPlan::Kind::kNStep ? 1 : static_cast<size_t>(window.period);
        for (size_t start = begin; start + 1 < end; start += period) {
          const size_t stop = window.kind == WindowPlan::Kind::kEpisode ? end : std::min(start + length, end);
          if (ended || (window.kind != WindowPlan::Kind::kEpisode && stop == start + length)) {
            add(start, stop - start);
          }
          if (window.kind == WindowPlan::Kind::kEpisode ||
              (window.kind == WindowPlan::Kind::kSequence && stop == end)) {
            break;
          }
        }
        begin = end;
      }
    }
  }
  return items;
}

// Row t of every lane.
absl::Status AppendRow(TrajectoryWriter* writer, const std::vector<std::vector<Row>>& streams, size_t t) {
  std::vector<int64_t> lanes(streams.size());
  std::iota(lanes.begin(), lanes.end(), 0);
  return writer->Append(lanes, LaneArrays(streams, std::vector<size_t>(streams.size(), t)).rows);
}

void Expect(const char** bytes, const void* expected, size_t size) {
  REQUIRE(std::memcmp(*bytes, expected, size) == 0);
  *bytes += size;
}

// Checks the layout and contents of all blocks, and returns how many rows they hold.
uint64_t CheckRows(const std::vector<InsertBlock>& blocks, const std::vector<std::vector<Row>>& streams) {
  uint64_t next_row = 0;
  for (const InsertBlock& block : blocks) {
    uint64_t rows = 0;
    for (const ChunkInfo& chunk : block.chunks) {
      rows += chunk.stream == 0 ? chunk.rows : 0;
    }
    auto chunk = block.chunks.begin();
    for (size_t lane = 0; lane < streams.size(); ++lane) {
      for (uint64_t row = next_row; row < next_row + rows; ++chunk) {
        REQUIRE(chunk != block.chunks.end());
        REQUIRE(chunk->stream == lane);
        REQUIRE(chunk->first_row == row);
        REQUIRE(chunk->rows > 0);
        for (const uint64_t end = row + chunk->rows; row < end; ++row) {
          // A chunk begins with the block, and where an episode does; this it says.
          const bool first = streams[lane][row].step_type == 0;
          REQUIRE((row == chunk->first_row ? chunk->begins == first : !first));
        }
        REQUIRE((chunk->begins || chunk->first_row == next_row));
      }
    }
    REQUIRE(chunk == block.chunks.end());
    std::vector<char> data(block.data.size());
    block.data.CopyTo(data.data());
    REQUIRE(data.size() == streams.size() * rows * (12 + 8 + 4 + 4 + 4 + 8));
    const char* at = data.data();
    const auto column = [&](auto member, size_t size) {
      for (const std::vector<Row>& stream : streams) {
        for (uint64_t i = 0; i < rows; ++i) {
          Expect(&at, member(stream[next_row + i]), size);
        }
      }
    };
    column([](const Row& row) -> const void* { return row.observation; }, 12);
    column([](const Row& row) -> const void* { return &row.action; }, 8);
    column([](const Row& row) -> const void* { return &row.reward; }, 4);
    column([](const Row& row) -> const void* { return &row.discount; }, 4);
    column([](const Row& row) -> const void* { return &row.step_type; }, 4);
    column([](const Row& row) -> const void* { return row.trace; }, 8);
    next_row += rows;
    for (const ItemInfo& item : block.items) {
      // An item comes with its last row, neither before nor later.
      REQUIRE(item.first_row + item.rows <= next_row);
      REQUIRE(item.first_row + item.rows > next_row - rows);
    }
  }
  return next_row;
}

TEST_CASE("blocks and items are those of a slow reference for random episodes, plans and chunks", "[unit]") {
  Rng rng(8);
  for (int trial = 0; trial < 60; ++trial) {
    const int64_t lanes = 1 + static_cast<int64_t>(rng.UniformInt(6));
    const int64_t chunk_rows = 1 + static_cast<int64_t>(rng.UniformInt(20));
    const int64_t length = 2 + static_cast<int64_t>(rng.UniformInt(6));
    const int64_t period = 1 + static_cast<int64_t>(rng.UniformInt(7));
    const std::vector<TablePlan> plans = {
        PlanOf("steps", WindowPlan::Kind::kNStep, length, 1, NStepPriority),
        PlanOf("sequences", WindowPlan::Kind::kSequence, length + 2, period, SequencePriority),
        PlanOf("episodes", WindowPlan::Kind::kEpisode, 12, 1, nullptr)};
    const auto streams = RandomStreams(lanes, 90, 12, &rng);
    INFO("trial " << trial << ": " << lanes << " lanes, chunks of " << chunk_rows << ", windows of " << length);

    RecordingWriter sink;
    auto writer = ValueOf(TrajectoryWriter::Create(OptionsOf(lanes, chunk_rows, plans), &sink));
    for (size_t t = 0; t < 90; ++t) {
      REQUIRE_OK(AppendRow(writer.get(), streams, t));
      REQUIRE(writer->BlockIsFull() == (writer->block_rows() == chunk_rows));
      if (writer->BlockIsFull() || rng.UniformInt(10) == 0) {
        REQUIRE_OK(writer->Flush(t, StopToken()));
        REQUIRE(sink.blocks.back().policy_version == t);
      }
    }
    REQUIRE_OK(writer->Flush(90, StopToken()));
    REQUIRE_OK(writer->Flush(91, StopToken()));  // There is nothing left.
    REQUIRE(CheckRows(sink.blocks, streams) == 90);

    Items items;
    int64_t count = 0;
    for (const InsertBlock& block : sink.blocks) {
      for (const ItemInfo& item : block.items) {
        items[{item.table, item.stream, item.first_row, item.rows}] = item.priority;
        ++count;
      }
    }
    REQUIRE(count == static_cast<int64_t>(items.size()));  // None came twice.
    REQUIRE(items == ItemsByDefinition(plans, streams));
    REQUIRE(writer->items_written() == count);
  }
}

// All that blocks hold of a lane: one column's bytes after the other's, row by row.
std::vector<std::vector<char>> LaneColumns(const std::vector<InsertBlock>& blocks, uint32_t lane) {
  std::vector<std::vector<char>> columns;
  for (const ArraySpec& column : FullSignature()) {
    const auto row_bytes = static_cast<size_t>(column.NumBytes());
    columns.emplace_back();
    for (const InsertBlock& block : blocks) {
      std::vector<char> data(block.data.size());
      block.data.CopyTo(data.data());
      size_t rows = 0;
      for (const ChunkInfo& chunk : block.chunks) {
        rows += chunk.rows;
      }
      size_t at = 0;  // Columns of all rows lie one after the other.
      for (size_t i = 0; FullSignature()[i].name != column.name; ++i) {
        at += rows * static_cast<size_t>(FullSignature()[i].NumBytes());
      }
      for (const ChunkInfo& chunk : block.chunks) {
        const size_t bytes = chunk.rows * row_bytes;
        if (chunk.stream == lane) {
          columns.back().insert(columns.back().end(), data.data() + at, data.data() + at + bytes);
        }
        at += bytes;
      }
    }
  }
  return columns;
}

TEST_CASE("lanes that do not keep step have the rows and items that they have when they do", "[unit]") {
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
    for (size_t t = 0; t < kRows; ++t) {
      REQUIRE_OK(AppendRow(writer.get(), streams, t));
      if (writer->BlockIsFull()) {
        REQUIRE_OK(writer->Flush(1, StopToken()));
      }
    }
    REQUIRE_OK(writer->Flush(1, StopToken()));

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
      std::vector<size_t> given = written;  // What is not in `lanes` is not read.
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
      REQUIRE(LaneColumns(apart.blocks, lane) == LaneColumns(together.blocks, lane));
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
    Items items;
    for (const InsertBlock& block : apart.blocks) {
      for (const ItemInfo& item : block.items) {
        REQUIRE(
            items.emplace(std::make_tuple(item.table, item.stream, item.first_row, item.rows), item.priority).second);
      }
    }
    REQUIRE(items == ItemsByDefinition(plans, streams));
  }
}

TEST_CASE("items carry as many rows of context as their table's stacks reach back, within the episode", "[unit]") {
  Rng rng(9);
  const auto streams = RandomStreams(3, 80, 12, &rng);
  TablePlan plain = PlanOf("plain", WindowPlan::Kind::kNStep, 3, 1, nullptr);
  TablePlan stacked = PlanOf("stacked", WindowPlan::Kind::kNStep, 3, 1, nullptr);
  stacked.table.view = {{"frames", kObservation, ViewField::Rows::kFirst, 4}};
  RecordingWriter sink;
  auto writer = ValueOf(TrajectoryWriter::Create(OptionsOf(3, 7, {plain, stacked}), &sink));
  for (size_t t = 0; t < 80; ++t) {
    REQUIRE_OK(AppendRow(writer.get(), streams, t));
    if (writer->BlockIsFull()) {
      REQUIRE_OK(writer->Flush(0, StopToken()));
    }
  }
  std::map<uint32_t, int> seen;  // By how many they have.
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

TEST_CASE("a table may take some of the columns, in its own order", "[unit]") {
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

TEST_CASE("a block that was handed over stays as it is while the next ones are written", "[unit]") {
  Rng rng(5);
  const auto streams = RandomStreams(3, 60, 9, &rng);
  RecordingWriter sink;  // Keeps every block.
  auto writer = ValueOf(
      TrajectoryWriter::Create(OptionsOf(3, 4, {PlanOf("t", WindowPlan::Kind::kNStep, 3, 1, NStepPriority)}), &sink));
  for (size_t t = 0; t < 60; ++t) {
    REQUIRE_OK(AppendRow(writer.get(), streams, t));
    if (writer->BlockIsFull()) {
      REQUIRE_OK(writer->Flush(0, StopToken()));
    }
  }
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
    REQUIRE_THAT(std::string(status.message()), Catch::Contains("table t, lane 0, rows 0 to 1: the initial priority"));
  }
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
  RecordingWriter sink;
  const TablePlan plan = PlanOf("t", WindowPlan::Kind::kNStep, 3, 1, nullptr);
  const auto message = [&sink](const TrajectoryWriterOptions& options) {
    const auto writer = TrajectoryWriter::Create(options, &sink);
    REQUIRE_CODE(writer, absl::StatusCode::kInvalidArgument);
    return std::string(writer.status().message());
  };
  REQUIRE_THAT(message(OptionsOf(0, 4, {plan})), Catch::Contains("lanes: 0"));
  REQUIRE_THAT(message(OptionsOf(1, 0, {plan})), Catch::Contains("chunk_rows: 0"));
  REQUIRE_THAT(message(OptionsOf(1, 4, {})), Catch::Contains("no table"));

  TablePlan wrong = plan;
  wrong.table.max_window = 2;
  REQUIRE_THAT(message(OptionsOf(1, 4, {wrong})), Catch::Contains("table t: window.length: 3"));
  wrong = plan;
  wrong.table.signature.push_back(ArraySpec{"logits", DType::kFloat32, {3}});
  REQUIRE_THAT(message(OptionsOf(1, 4, {wrong})), Catch::Contains("wants the column logits: float32[3]"));
  REQUIRE_THAT(message(OptionsOf(1, 4, {plan, wrong})), Catch::Contains("has rows of"));
  wrong = plan;
  wrong.table.signature[0].shape = {4};
  REQUIRE_THAT(message(OptionsOf(1, 4, {wrong})), Catch::Contains("wants the column observation: float32[4]"));

  TrajectoryWriterOptions options = OptionsOf(1, 4, {plan});
  options.private_columns = -1;
  REQUIRE_THAT(message(options), Catch::Contains("private_columns: -1"));
}

}  // namespace
}  // namespace waggle
