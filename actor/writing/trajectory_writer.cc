#include "actor/writing/trajectory_writer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "actor/writing/scalar_reward.h"
#include "common/base/annotate.h"
#include "common/base/check.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

// Blocks are acknowledged soon, so a few buffers suffice.
constexpr size_t kMaxFreeBuffers = 8;

template <size_t kBytes>
void CopyFixed(const char* source, absl::Span<const int64_t> lanes, const size_t* places, char* destination) {
  for (size_t i = 0; i < lanes.size(); ++i) {
    std::memcpy(destination + places[i] * kBytes, source + static_cast<size_t>(lanes[i]) * kBytes, kBytes);
  }
}

// Copies row lanes[i] of `bytes` to row places[i] for each i. Most rows are scalars, and a copy of known size is a
// single instruction.
void CopyLanes(const char* source, size_t bytes, absl::Span<const int64_t> lanes, const size_t* places,
               char* destination) {
  switch (bytes) {
    case 4:
      return CopyFixed<4>(source, lanes, places, destination);
    case 8:
      return CopyFixed<8>(source, lanes, places, destination);
    case 16:
      return CopyFixed<16>(source, lanes, places, destination);
    default:
      for (size_t i = 0; i < lanes.size(); ++i) {
        std::memcpy(destination + places[i] * bytes, source + static_cast<size_t>(lanes[i]) * bytes, bytes);
      }
  }
}

// The longest window that an initial priority needs; 0 if there is none.
int64_t HistoryRows(const std::vector<TablePlan>& plans) {
  int64_t rows = 0;
  for (const TablePlan& plan : plans) {
    if (plan.initial_priority) {
      rows = std::max(rows, plan.window.length);
    }
  }
  return rows;
}

// True if its items are inserted at the table's highest priority.
bool NeedsHighestPriority(const TablePlan& plan) {
  return plan.table.UsesPriorities() && !plan.initial_priority;
}

absl::Status ValidateOptions(const TrajectoryWriterOptions& options) {
  if (options.lanes < 1 || options.chunk_rows < 1 || options.max_block_bytes < 1) {
    return absl::InvalidArgumentError(absl::StrCat("lanes: ", options.lanes, ", chunk_rows: ", options.chunk_rows,
                                                   ", max_block_bytes: ", options.max_block_bytes,
                                                   "; wanted at least 1 of each"));
  }
  if (options.private_columns < 0) {
    return absl::InvalidArgumentError(absl::StrCat("private_columns: ", options.private_columns, " is negative"));
  }
  if (options.plans.empty()) {
    return absl::InvalidArgumentError("plans: got none; wanted at least one table");
  }
  for (const TablePlan& plan : options.plans) {
    const std::string context = absl::StrCat("table ", plan.table.name);
    WAGGLE_RETURN_IF_ERROR(Annotate(ValidateWindowPlan(plan.window, plan.table.max_window), context));
    if (plan.table.signature != options.plans[0].table.signature) {
      return absl::InvalidArgumentError(absl::StrCat(context, " has rows of ", DebugString(plan.table.signature),
                                                     "; table ", options.plans[0].table.name, " of ",
                                                     DebugString(options.plans[0].table.signature)));
    }
    if (plan.window.kind == WindowPlan::Kind::kUnroll && plan.table.MaxContextRows() > 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(context, " stacks rows of unrolls, which reach over the ends of episodes"));
    }
  }
  const auto highest = std::find_if(options.plans.begin(), options.plans.end(), NeedsHighestPriority);
  if (highest != options.plans.end() && HistoryRows(options.plans) > 0) {
    return absl::InvalidArgumentError(absl::StrCat("table ", highest->table.name,
                                                   " picks by priorities and has no initial one, and another table "
                                                   "has; wanted one in each such table, or none"));
  }
  return absl::OkStatus();
}

// True if windows of some plan cross the ends of episodes.
bool CrossEpisodes(const std::vector<TablePlan>& plans) {
  return std::any_of(plans.begin(), plans.end(),
                     [](const TablePlan& plan) { return plan.window.kind == WindowPlan::Kind::kUnroll; });
}

}  // namespace

std::vector<ArraySpec> StreamColumns(const EnvironmentSpec& environment, const std::vector<ArraySpec>& policy_columns) {
  std::vector<ArraySpec> columns = ArraysOf(environment.observations);
  const auto append = [&columns](const std::vector<ArraySpec>& more) {
    columns.insert(columns.end(), more.begin(), more.end());
  };
  append(ArraysOf(environment.actions));
  append(environment.rewards);
  append({ArraySpec{kDiscount, DType::kFloat32, {}}, ArraySpec{kStepType, DType::kInt32, {}}});
  append(policy_columns);
  return columns;
}

absl::StatusOr<std::unique_ptr<TrajectoryWriter>> TrajectoryWriter::Create(TrajectoryWriterOptions options,
                                                                           ReplayWriter* sink) {
  WAGGLE_RETURN_IF_ERROR(ValidateOptions(options));
  const std::vector<ArraySpec> available = StreamColumns(options.environment, options.policy_columns);
  std::vector<Column> columns;
  size_t row_bytes = 0;
  for (const ArraySpec& wanted : options.plans[0].table.signature) {
    const auto found = std::find(available.begin(), available.end(), wanted);
    if (found == available.end()) {
      return absl::InvalidArgumentError(absl::StrCat("table ", options.plans[0].table.name, " wants the column ",
                                                     wanted.DebugString(), "; environment and policy have ",
                                                     DebugString(available)));
    }
    Column column;
    column.source = static_cast<size_t>(found - available.begin());
    column.row_bytes = static_cast<size_t>(wanted.NumBytes());
    row_bytes += column.row_bytes;
    columns.push_back(column);
  }
  const int64_t bytes_a_row = std::max<int64_t>(1, static_cast<int64_t>(row_bytes) * options.lanes);
  const int64_t block_rows = std::clamp<int64_t>(options.max_block_bytes / bytes_a_row, 1, options.chunk_rows);
  size_t offset = 0;
  for (Column& column : columns) {
    column.offset = offset;
    offset += column.row_bytes * static_cast<size_t>(options.lanes * block_rows);
  }
  // The constructor is private.
  return std::unique_ptr<TrajectoryWriter>(
      new TrajectoryWriter(std::move(options), std::move(columns), block_rows, offset, sink));
}

TrajectoryWriter::TrajectoryWriter(TrajectoryWriterOptions options, std::vector<Column> columns, int64_t max_block_rows,
                                   size_t block_bytes, ReplayWriter* sink)
    : options_(std::move(options)),
      columns_(std::move(columns)),
      max_block_rows_(max_block_rows),
      crosses_episodes_(CrossEpisodes(options_.plans)),
      highest_priority_(std::any_of(options_.plans.begin(), options_.plans.end(), NeedsHighestPriority)),
      sink_(sink),
      pool_(block_bytes, kMaxFreeBuffers) {
  lanes_.resize(static_cast<size_t>(options_.lanes));
  for (const TablePlan& plan : options_.plans) {
    max_context_.push_back(static_cast<uint64_t>(plan.table.MaxContextRows()));
    cutters_.emplace_back(static_cast<size_t>(options_.lanes), WindowCutter(plan.window));
  }
  if (const int64_t rows = HistoryRows(options_.plans); rows > 0) {
    history_ = std::make_unique<WindowHistory>(options_.lanes, rows, options_.private_columns);
  }
}

absl::Status TrajectoryWriter::Append(absl::Span<const int64_t> lanes, const LaneRows& rows) {
  WAGGLE_CHECK(!BlockIsFull(), "a full block must be flushed before the next row");
  WAGGLE_CHECK(rows.policy_columns.size() == options_.policy_columns.size(), "every column of the policy is given");
  WAGGLE_CHECK(rows.observations.size() == options_.environment.observations.size() &&
                   rows.actions.size() == options_.environment.actions.size() &&
                   rows.rewards.size() == options_.environment.rewards.size(),
               "every leaf of the environment is given");
  if (block_ == nullptr) {
    block_ = pool_.Take();
  }
  CopyColumns(lanes, rows);
  for (const int64_t number : lanes) {
    Lane& lane = lanes_[static_cast<size_t>(number)];
    if (rows.step_types[number] == static_cast<int32_t>(StepType::kFirst)) {
      if (!crosses_episodes_) {
        begins_.emplace_back(number, lane.block_rows);
      }
      lane.episode_begin = lane.next_row;
    }
  }
  if (history_ != nullptr) {
    for (const int64_t lane : lanes) {
      const double reward = ScalarReward(options_.environment.rewards, rows.rewards, static_cast<size_t>(lane));
      history_->Set(
          lane, lanes_[static_cast<size_t>(lane)].next_row,
          {static_cast<float>(reward), rows.discounts[lane], rows.private_values + lane * options_.private_columns,
           rows.step_types[lane] == static_cast<int32_t>(StepType::kFirst)});
    }
  }
  WAGGLE_RETURN_IF_ERROR(CutWindows(lanes, rows));
  int64_t most = block_rows_;
  for (const int64_t number : lanes) {
    Lane& lane = lanes_[static_cast<size_t>(number)];
    ++lane.next_row;
    most = std::max(most, ++lane.block_rows);
  }
  block_rows_ = most;
  return absl::OkStatus();
}

void TrajectoryWriter::CopyColumns(absl::Span<const int64_t> lanes, const LaneRows& rows) {
  places_.resize(lanes.size());
  for (size_t i = 0; i < lanes.size(); ++i) {
    places_[i] = static_cast<size_t>(lanes[i] * max_block_rows_ + lanes_[static_cast<size_t>(lanes[i])].block_rows);
  }
  sources_.clear();  // In the order of StreamColumns().
  const auto add = [this](const auto& sources) {
    for (const void* source : sources) {
      sources_.push_back(static_cast<const char*>(source));
    }
  };
  add(rows.observations);
  add(rows.actions);
  add(rows.rewards);
  add(std::array<const void*, 2>{rows.discounts, rows.step_types});
  add(rows.policy_columns);
  for (const Column& column : columns_) {
    CopyLanes(sources_[column.source], column.row_bytes, lanes, places_.data(), block_.get() + column.offset);
  }
}

absl::Status TrajectoryWriter::CutWindows(absl::Span<const int64_t> lanes, const LaneRows& rows) {
  for (size_t plan = 0; plan < cutters_.size(); ++plan) {
    for (const int64_t lane : lanes) {
      completed_.clear();
      const auto index = static_cast<size_t>(lane);
      const absl::Status cut =
          cutters_[plan][index].Add(lanes_[index].next_row, static_cast<StepType>(rows.step_types[lane]), &completed_);
      if (!cut.ok()) {
        return Annotate(cut, absl::StrCat("table ", options_.plans[plan].table.name, ", lane ", lane));
      }
      for (const RowWindow& window : completed_) {
        WAGGLE_RETURN_IF_ERROR(AddItem(plan, lane, window));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status TrajectoryWriter::AddItem(size_t plan, int64_t lane, const RowWindow& window) {
  ItemInfo item;
  item.table = static_cast<uint32_t>(plan);
  item.stream = static_cast<uint32_t>(lane);
  item.first_row = window.first_row;
  item.rows = window.rows;
  item.priority = 1;
  // Rows before the episode are not part of a stack.
  const uint64_t episode_begin = lanes_[static_cast<size_t>(lane)].episode_begin;
  item.context_rows =
      static_cast<uint32_t>(std::min(max_context_[plan], window.first_row - std::min(window.first_row, episode_begin)));
  if (const InitialPriority& priority = options_.plans[plan].initial_priority; priority) {
    // Rows behind the transition are there for later goals alone.
    const int64_t rows = std::min<int64_t>(window.rows, options_.plans[plan].table.SampledRows());
    item.priority = priority(history_->Rows(lane, window.first_row), rows);
    if (!std::isfinite(item.priority) || item.priority < 0) {
      return absl::InvalidArgumentError(absl::StrCat("table ", options_.plans[plan].table.name, ", lane ", lane,
                                                     ", rows ", window.first_row, " to ",
                                                     window.first_row + window.rows - 1, ": the initial priority is ",
                                                     item.priority, "; wanted a finite one that is not negative"));
    }
  }
  items_.push_back(item);
  return absl::OkStatus();
}

absl::Status TrajectoryWriter::Flush(uint64_t policy_version, const StopToken& stop) {
  if (block_rows_ == 0) {
    return absl::OkStatus();
  }
  InsertBlock block;
  block.policy_version = policy_version;
  block.highest_priority = highest_priority_;
  block.chunks = TakeChunks();
  const size_t items = items_.size();
  block.items = std::move(items_);
  block.data = TakeData();
  block_rows_ = 0;
  for (Lane& lane : lanes_) {
    lane.block_rows = 0;
  }
  items_ = {};
  items_.reserve(items + items / 4);  // The next block will have about as many.
  WAGGLE_RETURN_IF_ERROR(sink_->Append(std::move(block), stop));
  items_written_ += static_cast<int64_t>(items);
  return absl::OkStatus();
}

// A lane's rows are contiguous, in any number of chunks.
std::vector<ChunkInfo> TrajectoryWriter::TakeChunks() {
  std::stable_sort(begins_.begin(), begins_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<ChunkInfo> chunks;
  chunks.reserve(static_cast<size_t>(options_.lanes) + begins_.size());
  auto begin = begins_.begin();
  for (int64_t lane = 0; lane < options_.lanes; ++lane) {
    const Lane& of_lane = lanes_[static_cast<size_t>(lane)];
    const auto rows = static_cast<uint32_t>(of_lane.block_rows);
    if (rows == 0) {
      continue;
    }
    const uint64_t first_row = of_lane.next_row - rows;
    ChunkInfo chunk{static_cast<uint32_t>(lane), first_row, rows, false};
    for (; begin != begins_.end() && begin->first == lane; ++begin) {
      const uint64_t row = first_row + static_cast<uint64_t>(begin->second);
      if (row > chunk.first_row) {
        const auto before = static_cast<uint32_t>(row - chunk.first_row);
        chunks.push_back({chunk.stream, chunk.first_row, before, chunk.begins});
        chunk.rows -= before;
      }
      chunk.first_row = row;
      chunk.begins = true;
    }
    chunks.push_back(chunk);
  }
  begins_.clear();
  return chunks;
}

// The buffer of a block that is full in every lane already has the layout of a message. Any other is compacted first,
// downwards and in order, so that no rows are overwritten before they are moved.
ByteSlices TrajectoryWriter::TakeData() {
  char* end = block_.get();
  for (const Column& column : columns_) {
    for (int64_t lane = 0; lane < options_.lanes; ++lane) {
      const size_t chunk_bytes = column.row_bytes * static_cast<size_t>(lanes_[static_cast<size_t>(lane)].block_rows);
      const char* chunk = block_.get() + column.offset + static_cast<size_t>(lane * max_block_rows_) * column.row_bytes;
      if (chunk != end) {
        std::memmove(end, chunk, chunk_bytes);
      }
      end += chunk_bytes;
    }
  }
  ByteSlice slice;
  slice.data = block_.get();
  slice.size = static_cast<size_t>(end - block_.get());
  slice.owner = std::move(block_);
  block_ = nullptr;
  return ByteSlices(std::move(slice));
}

}  // namespace waggle
