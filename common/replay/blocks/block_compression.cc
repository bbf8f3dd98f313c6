#include "common/replay/blocks/block_compression.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>

#include "absl/strings/str_cat.h"

namespace waggle {
std::vector<Codec> ColumnCodecs(const std::vector<ArraySpec>& signature,
                                const std::vector<ColumnCompression>& compression) {
  std::vector<Codec> codecs(signature.size(), Codec::kNone);
  for (size_t i = 0; i < signature.size(); ++i) {
    for (const ColumnCompression& column : compression) {
      if (column.column == signature[i].name) {
        codecs[i] = column.codec;
      }
    }
  }
  return codecs;
}

absl::Status CompressBlock(const std::vector<ArraySpec>& signature, const std::vector<Codec>& codecs,
                           InsertBlock* block) {
  size_t rows = 0;
  for (const ChunkInfo& chunk : block->chunks) {
    rows += chunk.rows;
  }
  size_t bytes = 0;
  size_t room = 0;  // For compressed bytes.
  for (size_t i = 0; i < signature.size(); ++i) {
    const auto row_bytes = static_cast<size_t>(signature[i].NumBytes());
    // Far more than any data has, so that sums cannot overflow.
    constexpr size_t kTooMany = size_t{1} << 48;
    bytes += row_bytes > 0 && rows > kTooMany / row_bytes ? kTooMany : rows * row_bytes;
    for (size_t c = 0; codecs[i] != Codec::kNone && c < block->chunks.size(); ++c) {
      const size_t piece = block->chunks[c].rows * row_bytes;
      if (piece > std::numeric_limits<uint32_t>::max()) {
        return absl::InvalidArgumentError(absl::StrCat("column \"", signature[i].name, "\": the ", piece,
                                                       " bytes of chunk ", c, "'s rows are too many to be compressed"));
      }
      room += std::max(MaxCompressedBytes(codecs[i], piece), piece);
    }
  }
  if (room == 0 && block->compressed_bytes.empty()) {
    return absl::OkStatus();  // Nothing is compressed.
  }
  if (block->data.size() != bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("got ", block->data.size(), " bytes of rows; ", rows, " rows have ", bytes));
  }
  const std::shared_ptr<const char> raw = InOneRun(block->data);
  const std::shared_ptr<char> packed = AllocateBytes(room);
  block->data = ByteSlices();
  block->compressed_bytes.clear();
  size_t packed_bytes = 0;
  size_t at = 0;  // In the raw rows.
  for (size_t i = 0; i < signature.size(); ++i) {
    const auto row_bytes = static_cast<size_t>(signature[i].NumBytes());
    if (codecs[i] == Codec::kNone) {
      block->data.Append({raw.get() + at, rows * row_bytes, raw});
      at += rows * row_bytes;
      continue;
    }
    for (const ChunkInfo& chunk : block->chunks) {
      const size_t size = chunk.rows * row_bytes;
      char* const to = packed.get() + packed_bytes;
      size_t compressed = Compress(codecs[i], raw.get() + at, size, to);
      if (compressed == 0) {
        std::memcpy(to, raw.get() + at, size);
        compressed = size;
      }
      block->compressed_bytes.push_back(static_cast<uint32_t>(compressed));
      packed_bytes += compressed;
      at += size;
    }
  }
  block->data.Append({packed.get(), packed_bytes, packed});
  return absl::OkStatus();
}

}  // namespace waggle
