#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "common/tensor/array_spec.h"
#include "common/tensor/compression.h"

namespace waggle {

// Where the columns of a block of rows lie: column after column, and in each the rows, with nothing between. Columns
// that are compressed lie behind the others, in pieces of one chunk's rows.
struct RowLayout {
  // The signature must be valid; `codecs` has one for each column, or none at all.
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
  std::string producer;                  // The writer whose rows have this layout; empty where it is nobody's.
  std::vector<size_t> column_bytes;      // Of one row.
  std::vector<size_t> column_start;      // Of one row: the bytes of the plain columns before.
  std::vector<Codec> codec_of;           // By column.
  std::vector<size_t> compressed;        // The columns that are compressed.
  std::vector<size_t> compressed_index;  // By column: in `compressed`, if it is.
  size_t row_bytes = 0;                  // Of all columns, not compressed.
  size_t plain_row_bytes = 0;            // Of the others than those.
};

}  // namespace waggle
