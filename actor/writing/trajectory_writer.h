#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "actor/writing/window_cutter.h"
#include "actor/writing/window_history.h"
#include "common/base/tensor/buffer_pool.h"
#include "common/base/threads/stop_token.h"
#include "common/config/plan/table_plan.h"
#include "common/config/spec/environment_spec.h"
#include "common/replay/ports/replay.h"

namespace waggle {

// Rows of lanes' streams, complete with the results of their actions. Each array is [lanes, …] of all the writer's
// lanes.
struct LaneRows {
  // One array for each of the environment's leaves of a kind, in their order.
  absl::Span<const void* const> observations;
  absl::Span<const void* const> actions;
  absl::Span<const float* const> rewards;
  const float* discounts = nullptr;
  const int32_t* step_types = nullptr;
  absl::Span<void* const> policy_columns;  // The policy's, in its order.
  const float* private_values = nullptr;   // [lanes, private_columns].
};

struct TrajectoryWriterOptions {
  int64_t lanes = 0;
  EnvironmentSpec environment;
  std::vector<ArraySpec> policy_columns;
  int64_t private_columns = 0;
  // Tables to fill, all of one signature. It names columns of the environment and of the policy.
  std::vector<TablePlan> plans;
  int64_t chunk_rows = 16;  // Rows of a lane that are handed over together.
  // The limit of a block. A block has at least one row, even if it is larger.
  int64_t max_block_bytes = int64_t{4} << 20;
};

// Turns rows of a vector of lanes into blocks of chunks and items, as table plans say, and hands them to a replay
// writer. Lanes need not keep step: a block has the rows of each lane that came. Stream number i is lane i. Each
// episode begins a new chunk, unless windows cross episodes. A step's item may come in a later block than its first
// rows. Windows that are incomplete when the writer is destroyed are dropped. It does not use the client library's
// RowWriter, which takes 3.6 times as long for the same rows and items of 32 lanes (actor_bench, actor/write_rows_32).
// One thread.
class TrajectoryWriter {
 public:
  // INVALID_ARGUMENT for options that contradict each other. `sink` is borrowed.
  static absl::StatusOr<std::unique_ptr<TrajectoryWriter>> Create(TrajectoryWriterOptions options, ReplayWriter* sink);

  // Copies the next row of each of `lanes`, each named once, into the present block, which must not be full. Other
  // lanes of `rows` are not read. INVALID_ARGUMENT if a lane's step types do not make episodes, or a plan's priority is
  // negative or not finite. The writer must not be used after an error.
  absl::Status Append(absl::Span<const int64_t> lanes, const LaneRows& rows);

  // The most rows that a lane has in the present block.
  int64_t block_rows() const { return block_rows_; }
  // True if the present block is full. A block with an unroll of every lane is full, so that the learner does not wait
  // for more rows.
  bool BlockIsFull() const {
    return block_rows_ == max_block_rows_ || (crosses_episodes_ && items_.size() >= lanes_.size());
  }

  // Hands over the present block, full or not; does nothing if it is empty. `policy_version`: the version of the
  // weights that chose all its actions. Blocks as ReplayWriter::Append does, and returns its status.
  absl::Status Flush(uint64_t policy_version, const StopToken& stop);

  // Items handed over so far.
  int64_t items_written() const { return items_written_; }

 private:
  // A column of the signature: its rows' source, and their place in a block.
  struct Column {
    size_t source = 0;  // The index into StreamColumns().
    size_t row_bytes = 0;
    size_t offset = 0;  // In a block of max_block_rows_.
  };

  struct Lane {
    uint64_t next_row = 0;
    int64_t block_rows = 0;      // In the present block.
    uint64_t episode_begin = 0;  // The episode's first row.
  };

  TrajectoryWriter(TrajectoryWriterOptions options, std::vector<Column> columns, int64_t max_block_rows,
                   size_t block_bytes, ReplayWriter* sink);

  void CopyColumns(absl::Span<const int64_t> lanes, const LaneRows& rows);
  absl::Status CutWindows(absl::Span<const int64_t> lanes, const LaneRows& rows);
  // Takes the chunks of the present block, which must not be empty.
  std::vector<ChunkInfo> TakeChunks();
  absl::Status AddItem(size_t plan, int64_t lane, const RowWindow& window);
  ByteSlices TakeData();

  const TrajectoryWriterOptions options_;
  const std::vector<Column> columns_;
  const int64_t max_block_rows_;
  const bool crosses_episodes_;  // True if some windows cross episodes.
  const bool highest_priority_;  // True if its blocks ask for it.
  ReplayWriter* const sink_;
  BufferPool pool_;
  std::vector<std::vector<WindowCutter>> cutters_;  // By plan, then by lane.
  std::unique_ptr<WindowHistory> history_;          // Null if no plan needs it.
  std::vector<uint64_t> max_context_;               // By plan.
  std::vector<Lane> lanes_;
  std::vector<RowWindow> completed_;
  // For the rows being appended: the source of each stream column, and each row's place among a column's.
  std::vector<const char*> sources_;
  std::vector<size_t> places_;

  std::shared_ptr<char> block_;
  int64_t block_rows_ = 0;       // The most rows of a lane in the present block.
  std::vector<ItemInfo> items_;  // The present block's.
  // The lanes and rows of the present block where an episode begins, in order of arrival.
  std::vector<std::pair<int64_t, int64_t>> begins_;
  int64_t items_written_ = 0;
};

// The columns that a stream can have: one for each leaf of the environment, with its name, in the order observations,
// actions, rewards; then kDiscount and kStepType; then the policy's.
std::vector<ArraySpec> StreamColumns(const EnvironmentSpec& environment, const std::vector<ArraySpec>& policy_columns);

}  // namespace waggle
