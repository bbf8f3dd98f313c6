#include "tests/actor/writer_streams.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>
#include <utility>

#include "tests/actor/fakes.h"
#include "tests/support/catch.h"
#include "tests/support/slices.h"

namespace waggle::testing {
namespace {

double PriorityOf(const TablePlan& plan, const std::vector<Row>& stream, size_t first, size_t count) {
  if (!plan.initial_priority) {
    return 1;
  }
  std::vector<WindowRow> rows;
  for (size_t i = first; i < first + count; ++i) {
    rows.push_back(WindowRow{stream[i].reward, stream[i].discount, stream[i].extras,
                             stream[i].step_type == static_cast<int32_t>(StepType::kFirst)});
  }
  return plan.initial_priority(rows.data(), static_cast<int64_t>(count));
}

using Add = std::function<void(size_t first, size_t count)>;

// Calls `add` for each window of an episode of rows [begin, end), whose last row may be missing yet.
void AddWindows(const WindowPlan& window, size_t begin, size_t end, bool ended, const Add& add) {
  const size_t length = static_cast<size_t>(window.length);
  const size_t period = window.kind == WindowPlan::Kind::kNStep ? 1 : static_cast<size_t>(window.period);
  for (size_t start = begin; start + 1 < end; start += period) {
    const size_t stop = window.kind == WindowPlan::Kind::kEpisode ? end : std::min(start + length, end);
    if (ended || (window.kind != WindowPlan::Kind::kEpisode && stop == start + length)) {
      add(start, stop - start);
    }
    if (window.kind == WindowPlan::Kind::kEpisode || (window.kind == WindowPlan::Kind::kSequence && stop == end)) {
      break;
    }
  }
}

void AddUnrolls(const WindowPlan& window, size_t rows, const Add& add) {
  const size_t length = static_cast<size_t>(window.length);
  for (size_t start = 0; start + length <= rows; start += static_cast<size_t>(window.period)) {
    add(start, length);
  }
}

}  // namespace

Streams RandomStreams(int64_t lanes, int64_t rows, int64_t max_episode_rows, Rng* rng) {
  Streams streams(static_cast<size_t>(lanes));
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

absl::Status AppendRow(TrajectoryWriter* writer, const Streams& streams, size_t t) {
  std::vector<int64_t> lanes(streams.size());
  std::iota(lanes.begin(), lanes.end(), 0);
  return writer->Append(lanes, LaneArrays(streams, std::vector<size_t>(streams.size(), t)).rows);
}

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
  return largest + static_cast<double>(count) + (rows[0].first ? 0.5 : 0);
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

Items ItemsByDefinition(const std::vector<TablePlan>& plans, const Streams& streams) {
  Items items;
  for (uint32_t table = 0; table < plans.size(); ++table) {
    for (uint32_t lane = 0; lane < streams.size(); ++lane) {
      const std::vector<Row>& stream = streams[lane];
      const Add add = [&](size_t first, size_t count) {
        items[{table, lane, first, static_cast<uint32_t>(count)}] = PriorityOf(plans[table], stream, first, count);
      };
      if (plans[table].window.kind == WindowPlan::Kind::kUnroll) {
        AddUnrolls(plans[table].window, stream.size(), add);
        continue;
      }
      for (size_t begin = 0; begin < stream.size();) {
        size_t end = begin;  // The episode is [begin, end).
        while (end < stream.size() && (end == begin || stream[end].step_type != 0)) {
          ++end;
        }
        AddWindows(plans[table].window, begin, end, stream[end - 1].step_type == 2, add);
        begin = end;
      }
    }
  }
  return items;
}

Items ItemsOf(const std::vector<InsertBlock>& blocks) {
  Items items;
  for (const InsertBlock& block : blocks) {
    for (const ItemInfo& item : block.items) {
      REQUIRE(items.emplace(std::make_tuple(item.table, item.stream, item.first_row, item.rows), item.priority).second);
    }
  }
  return items;
}

void Expect(const char** bytes, const void* expected, size_t size) {
  REQUIRE(std::memcmp(*bytes, expected, size) == 0);
  *bytes += size;
}

uint64_t CheckRows(const std::vector<InsertBlock>& blocks, const Streams& streams, bool crosses_episodes) {
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
          // A chunk begins with the block or, unless windows cross episodes, with an episode; `begins` marks the
          // latter.
          const bool first = !crosses_episodes && streams[lane][row].step_type == 0;
          REQUIRE((row == chunk->first_row ? chunk->begins == first : !first));
        }
        REQUIRE((chunk->begins || chunk->first_row == next_row));
      }
    }
    REQUIRE(chunk == block.chunks.end());
    const std::string data = BytesOf(block.data);
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
      // An item comes in the block of its last row.
      REQUIRE(item.first_row + item.rows <= next_row);
      REQUIRE(item.first_row + item.rows > next_row - rows);
    }
  }
  return next_row;
}

}  // namespace waggle::testing
