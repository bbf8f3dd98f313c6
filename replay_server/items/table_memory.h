#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "common/base/tensor/array_spec.h"
#include "common/config/table/table_config.h"
#include "common/replay/blocks/block_compression.h"
#include "replay_server/rows/row_layout.h"

namespace waggle {

// A lower bound of a full table's bytes in memory: an entry and a row for each item, as items rarely begin with the
// same row. Compressed columns are left out, as their size is not known. The configuration must be valid.
inline int64_t LeastMemoryWhenFull(const TableConfig& config) {
  constexpr int64_t kItemBytes = 32;
  const RowLayout rows(config.signature, ColumnCodecs(config.signature, config.compression));
  const auto row_bytes = static_cast<int64_t>(rows.plain_row_bytes);
  const int64_t items = row_bytes == 0 ? config.max_items : std::min(config.max_items, config.max_bytes / row_bytes);
  const int64_t in_memory =
      config.memory_limit > 0 ? std::min(items * row_bytes, config.memory_limit) : items * row_bytes;
  return in_memory + std::min(items * kItemBytes, std::numeric_limits<int64_t>::max() - in_memory);
}

// The largest max_items, up to the table's own, that needs at most `bytes`; 0 if there is none.
inline int64_t MostItemsWithin(int64_t bytes, TableConfig config) {
  int64_t most = 0;
  for (int64_t step = std::max<int64_t>(config.max_items, 1); step > 0;) {
    config.max_items = most + step;
    if (LeastMemoryWhenFull(config) <= bytes) {
      most += step;
    } else {
      step /= 2;
    }
  }
  return most;
}

// The most that its rows take, in memory and on disk together: no more than max_bytes, nor than those of full windows,
// no two of which share a row. Columns that are compressed count in full. The configuration is valid.
inline int64_t MostRowBytes(const TableConfig& config) {
  const int64_t row_bytes = BytesARow(config.signature);
  const int64_t rows = config.max_items * (config.max_window + config.MaxContextRows());
  return row_bytes == 0 || rows < config.max_bytes / row_bytes ? rows * row_bytes : config.max_bytes;
}

}  // namespace waggle
