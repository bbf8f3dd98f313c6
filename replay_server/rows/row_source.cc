#include "replay_server/rows/row_source.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/base/annotate.h"

namespace waggle {

const char* RowSource::Decompressed(const Chunk& chunk, size_t column) {
  const absl::Span<const char> piece = chunk.Piece(layout_, column);
  const size_t bytes = chunk.rows() * layout_.column_bytes[column];
  if (piece.size() == bytes) {
    return piece.data();
  }
  KeptOfColumn& of_column = kept_[layout_.compressed_index[column]];
  for (const Kept& kept : of_column.kept) {
    if (kept.chunk == &chunk) {
      return kept.rows.data();
    }
  }
  Kept& kept = of_column.kept[of_column.next];
  of_column.next = (of_column.next + 1) % kKept;
  kept.chunk = &chunk;
  kept.rows.resize(bytes);
  const absl::Status status = Decompress(layout_.codec_of[column], piece.data(), piece.size(), kept.rows.data(), bytes);
  if (!status.ok()) {
    std::fill(kept.rows.begin(), kept.rows.end(), '\0');
    if (status_.ok()) {
      status_ = Annotate(status, absl::StrCat("column \"", layout_.signature[column].name, "\""));
    }
  }
  return kept.rows.data();
}

}  // namespace waggle
