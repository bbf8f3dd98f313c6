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

// A row's values by column. Borrows arrays until the row is appended; copies scalars.
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
  // For element types that C++ lacks: the elements' bytes.
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
  // Rows of a stream, and bytes of all streams, that are sent together. More is less overhead and later data.
  int64_t chunk_rows = 32;
  int64_t block_bytes = int64_t{1} << 20;
  // Unacknowledged blocks and bytes that may gather before Append blocks.
  int64_t max_unacknowledged_blocks = 64;
  int64_t max_unacknowledged_bytes = int64_t{64} << 20;

  absl::Status Validate() const;
};

// Writes row by row, in chunks and blocks. Sends enough rows by itself, and all by Send and Flush. One thread.
class RowWriter {
 public:
  // The tables must exist, with one signature and one compression. INVALID_ARGUMENT if they differ or there are none.
  static absl::StatusOr<std::unique_ptr<RowWriter>> Create(ReplayConnection* connection,
                                                           std::vector<TableConfig> tables,
                                                           RowWriterOptions options = {});

  // The steps of one environment, in order. Lives as long as its writer.
  class Stream {
   public:
    // INVALID_ARGUMENT, naming the column, if one is missing, unknown, given twice, or has another type or size. Any
    // other error is the writer's, and final. Blocks while too much is unacknowledged. A stop then returns CANCELLED,
    // and the row is still added.
    absl::Status Append(const Row& row, const StopToken& stop = StopToken());
    // Takes a pointer to each column's values, in the signature's order. Faster than names.
    absl::Status Append(absl::Span<const void* const> columns, const StopToken& stop = StopToken());

    // The next row begins an episode: no item and no stack reaches back over it.
    void BeginEpisode() { begins_ = true; }
    // Rows since the episode began.
    int64_t episode_rows() const { return begins_ ? 0 : episode_rows_; }

    // Makes the newest `rows` rows an item of the table. Without a priority it gets the highest of the table's items.
    // INVALID_ARGUMENT for more rows than the episode has or the table allows. If only one of this item and the last
    // has a priority, sends what is gathered first. That blocks as Append does, and a stop then returns CANCELLED
    // without an item.
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
  // Sends, and waits until all is acknowledged. DEADLINE_EXCEEDED after `timeout`; CANCELLED within a second of a stop:
  // sent blocks may still arrive, and unsent ones are kept.
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
  std::optional<InsertBlock> unsent_;  // A stop interrupted its Append.
};

}  // namespace waggle
