#pragma once

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "replay_server/rows/chunk.h"
#include "replay_server/rows/row_layout.h"

namespace waggle {

// Reads rows out of chunks, whether their column is compressed or not. Items that lie side by side in a batch often
// share a chunk: a few decompressed ones are kept. Chunks are alive as long as it is. Not thread-safe.
class RowSource {
 public:
  explicit RowSource(const RowLayout& layout) : layout_(layout), kept_(layout.compressed.size()) {}

  // The bytes of one row of one column; the chunk's next row lies right behind it. Valid until the next call for this
  // column.
  const char* Row(const Chunk& chunk, size_t column, size_t row) {
    return layout_.codec_of[column] == Codec::kNone ? chunk.Row(layout_, column, row)
                                                    : Decompressed(chunk, column) + row * layout_.column_bytes[column];
  }

  // The first piece that could not be decompressed; its rows read as zeros.
  const absl::Status& status() const { return status_; }

 private:
  static constexpr size_t kKept = 4;
  struct Kept {
    const Chunk* chunk = nullptr;
    std::vector<char> rows;
  };
  struct KeptOfColumn {
    Kept kept[kKept];
    size_t next = 0;  // To be given up.
  };

  const char* Decompressed(const Chunk& chunk, size_t column);

  const RowLayout& layout_;
  std::vector<KeptOfColumn> kept_;  // By compressed column.
  absl::Status status_;
};

}  // namespace waggle
