#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "common/tensor/array_spec.h"

namespace waggle {

// Where the columns of a block of rows lie: column after column, and in each the rows, with nothing between.
struct RowLayout {
  // The signature must be valid.
  explicit RowLayout(std::vector<ArraySpec> columns) : signature(std::move(columns)) {
    for (const ArraySpec& column : signature) {
      column_start.push_back(row_bytes);
      column_bytes.push_back(static_cast<size_t>(column.NumBytes()));
      row_bytes += column_bytes.back();
    }
  }

  std::vector<ArraySpec> signature;
  std::vector<size_t> column_bytes;  // Of one row.
  std::vector<size_t> column_start;  // Of one row: the bytes of the columns before.
  size_t row_bytes = 0;
};

}  // namespace waggle
