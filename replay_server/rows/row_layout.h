#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "common/base/tensor/array_spec.h"
#include "common/base/tensor/compression.h"

namespace waggle {

// The places of the columns in a block of rows: column after column, each with its rows, without gaps. Compressed
// columns follow the plain ones, in a piece for each chunk.
struct RowLayout {
  // The signature must be valid. `codecs` has one entry for each column, or is empty.
  explicit RowLayout(std::vector<ArraySpec> columns, const std::vector<Codec>& codecs = {}, std::string writer = "")
      : signature(std::move(columns)), producer(std::move(writer)) {
    for (size_t i = 0; i < signature.size(); ++i) {
      const Codec codec = codecs.empty() ? Codec::kNone : codecs[i];
      column_start.push_back(plain_row_bytes);
      column_bytes.push_back(static_cast<size_t>(signature[i].NumBytes()));
      row_bytes += column_bytes.back();
      codec_of.push_back(codec);
      compressed_index.push_back(compressed.size());
      if (codec == Codec::kNone) {
        plain_row_bytes += column_bytes.back();
      } else {
        compressed.push_back(i);
      }
    }
  }

  std::vector<ArraySpec> signature;
  std::string producer;                  // The writer of rows with this layout; empty if there is none.
  std::vector<size_t> column_bytes;      // Bytes of a row.
  std::vector<size_t> column_start;      // Bytes of a row's plain columns before this one.
  std::vector<Codec> codec_of;           // By column.
  std::vector<size_t> compressed;        // Indexes of compressed columns.
  std::vector<size_t> compressed_index;  // By column: its index in `compressed`, if compressed.
  size_t row_bytes = 0;                  // All columns, uncompressed.
  size_t plain_row_bytes = 0;            // Plain columns only.
};

}  // namespace waggle
