#pragma once

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "replay_server/rows/chunk.h"
#include "replay_server/rows/row_layout.h"

namespace waggle {

// Reads rows of plain and compressed columns. Neighbouring items of a batch often share a chunk, so it keeps a few
// decompressed chunks. The chunks must outlive it. Not thread-safe.
class RowSource {
 public:
  explicit RowSource(const RowLayout& layout) : layout_(layout), kept_(layout.compressed.size()) {}

  // One row of one column; the chunk's next row follows it. Valid until the next call for this column.
  const char* Row(const Chunk& chunk, size_t column, size_t row) {
    return layout_.codec_of[column] == Codec::kNone ? chunk.Row(layout_, column, row)
                                                    : Decompressed(chunk, column) + row * layout_.column_bytes[column];
  }

  // The first error of decompression. The rows of such a piece read as zeros.
  const absl::Status& status() const { return status_; }

 private:
  static constexpr size_t kKept = 4;
  struct Kept {
    const Chunk* chunk = nullptr;
    std::vector<char> rows;
  };
  struct KeptOfColumn {
    Kept kept[kKept];
    size_t next = 0;  // The next entry that is replaced.
  };

  const char* Decompressed(const Chunk& chunk, size_t column);

  const RowLayout& layout_;
  std::vector<KeptOfColumn> kept_;  // By compressed column.
  absl::Status status_;
};

}  // namespace waggle
