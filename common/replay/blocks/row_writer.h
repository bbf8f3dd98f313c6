#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/base/threads/stop_token.h"
#include "common/replay/ports/replay.h"

namespace waggle {

// The values of a row, by the names of their columns. Arrays are borrowed until the row is appended, scalars are kept.
//
//   Row row;
//   row.Set("observation", absl::MakeConstSpan(observation)).Set("action", int64_t{2}).Set("reward", 1.0F);
class Row {
 public:
  template <class T>
  Row& Set(absl::string_view column, T value) {
    scalars_.emplace_back();
    *reinterpret_cast<T*>(scalars_.back().bytes) = value;
    return Add(column, DTypeOf<T>(), scalars_.back().bytes, 1);
  }
  template <class T>
  Row& Set(absl::string_view column, absl::Span<const T> values) {
    return Add(column, DTypeOf<T>(), values.data(), values.size());
  }
  template <class T>
  Row& Set(absl::string_view column, const std::vector<T>& values) {
    return Set(column, absl::MakeConstSpan(values));
  }
  // For element types without one of C++'s own: the elements' bytes.
  Row& Add(absl::string_view column, DType dtype, const void* data, size_t elements) {
    cells_.push_back({column, dtype, data, elements});
    return *this;
  }

 private:
  friend class RowWriter;
  struct Cell {
    absl::string_view column;
    DType dtype;
    const void* data;
    size_t elements;
  };
  struct Scalar {
    alignas(8) char bytes[8];
  };
  std::vector<Cell> cells_;
  std::deque<Scalar> scalars_;  // A deque: cells point to its elements.
};

struct RowWriterOptions {
  std::string writer_id;  // Unique among the writers of a server; empty: a random one.
  // Rows of a stream that are sent together, and bytes of all streams. More is less overhead and later data.
  int64_t chunk_rows = 32;
  int64_t block_bytes = int64_t{1} << 20;
  // Unacknowledged blocks and bytes that may gather before Append blocks.
  int64_t max_unacknowledged_blocks = 64;
  int64_t max_unacknowledged_bytes = int64_t{64} << 20;

  absl::Status Validate() const;
};

// Writes row by row: gathers rows into chunks, and items over them into blocks, for any form of the port. They are sent
// when there are enough, by Send, and by Flush. One thread.
class RowWriter {
 public:
  // The tables exist, and have one signature and one compression. INVALID_ARGUMENT if they differ, or if there are
  // none.
  static absl::StatusOr<std::unique_ptr<RowWriter>> Create(ReplayConnection* connection,
                                                           std::vector<TableConfig> tables,
                                                           RowWriterOptions options = {});

  // The steps of one environment, in their order. Lives as long as its writer.
  class Stream {
   public:
    // INVALID_ARGUMENT, naming the column, for one that is missing, unknown or given twice, or has another type or
    // number of elements. Any other error is the writer's, and final. Blocks while too much is unacknowledged; a stop
    // ends that with CANCELLED, and the row is added all the same.
    absl::Status Append(const Row& row, const StopToken& stop = StopToken());
    // The same with a pointer to each column's values, in the signature's order: faster than names.
    absl::Status Append(absl::Span<const void* const> columns, const StopToken& stop = StopToken());

    // The next row begins an episode: no item and no stack reaches back over it.
    void BeginEpisode() { begins_ = true; }
    // Rows since the episode began.
    int64_t episode_rows() const { return begins_ ? 0 : episode_rows_; }

    // Makes the newest `rows` rows an item of the table. Without a priority it gets the highest of the table's items.
    // INVALID_ARGUMENT for more rows than the episode has, or than the table allows. If only one of this item and the
    // one before has a priority, the gathered rows and items are sent first, which blocks as Append does; a stop then
    // ends it with CANCELLED, and there is no item.
    absl::Status CreateItem(absl::string_view table, int64_t rows, std::optional<double> priority = std::nullopt,
                            const StopToken& stop = StopToken());

   private:
    friend class RowWriter;
    Stream(RowWriter* writer, uint32_t number) : writer_(writer), number_(number) {}
    absl::Status Appended(const StopToken& stop);

    RowWriter* const writer_;
    const uint32_t number_;
    uint64_t next_row_ = 0;
    int64_t episode_rows_ = 0;
    bool begins_ = false;
    // Not yet sent.
    std::vector<std::vector<char>> columns_;
    std::vector<ChunkInfo> chunks_;
    int64_t rows_ = 0;
  };
  Stream* NewStream();

  // Sends the gathered rows and items. Blocks as Append does.
  absl::Status Send(const StopToken& stop = StopToken());
  // Send, and then a wait until everything is acknowledged. DEADLINE_EXCEEDED if that takes longer, CANCELLED within a
  // second of a stop: unacknowledged blocks are on their way all the same, and unsent ones are kept.
  absl::Status Flush(absl::Duration timeout, const StopToken& stop = StopToken());

  ReplayWriter::Stats stats() const { return sink_->stats(); }

 private:
  RowWriter(std::vector<TableConfig> tables, const RowWriterOptions& options, std::unique_ptr<ReplayWriter> sink);
  absl::Status CreateItem(Stream* stream, absl::string_view table, int64_t rows, std::optional<double> priority,
                          const StopToken& stop);
  absl::StatusOr<bool> SendBlock(const StopToken& stop);
  std::optional<InsertBlock> TakeBlock();
  absl::Status ToColumns(const Row& row, std::vector<const void*>* columns) const;

  const std::vector<TableConfig> tables_;
  const RowWriterOptions options_;
  const std::unique_ptr<ReplayWriter> sink_;
  std::vector<size_t> column_bytes_;  // Bytes a row.
  size_t row_bytes_ = 0;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::vector<const void*> row_;
  std::vector<ItemInfo> items_;    // Not yet sent.
  bool highest_priority_ = false;  // For these items.
  int64_t bytes_ = 0;
  std::optional<InsertBlock> unsent_;  // A stop kept it from being taken.
};

}  // namespace waggle
