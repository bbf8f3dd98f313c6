#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/config/table/table_config.h"
#include "replay_server/items/table_state.h"
#include "replay_server/rows/chunk.h"

namespace waggle::testing {

// A small table. Rows identify themselves: "id" is stream * 1000 + row, "pair" is (id, -id).
inline TableConfig SmallTable() {
  TableConfig config;
  config.name = "small";
  config.signature = {{"id", DType::kInt64, {}}, {"pair", DType::kFloat32, {2}}};
  config.view = {{"first_id", "id", ViewField::Rows::kFirst},
                 {"last_pair", "pair", ViewField::Rows::kLast},
                 {"ids", "id", ViewField::Rows::kAll}};
  config.sampler.kind = SelectorKind::kPrioritized;
  config.sampler.priority_exponent = 1;
  config.max_items = 100;
  config.max_bytes = int64_t{1} << 30;
  config.max_window = 4;
  return config;
}

inline constexpr int64_t kSmallRowBytes = 16;

// Consecutive chunks of a stream from `first_row` on, with `rows[i]` rows each, in one block.
inline std::vector<ChunkRef> MakeRows(uint64_t stream, uint64_t first_row, const std::vector<uint32_t>& rows,
                                      BlockHome home = {}) {
  const auto layout = std::make_shared<RowLayout>(SmallTable().signature);
  NewBlock block = MakeChunks(layout, rows, 1, {}, std::move(home));
  size_t total = 0;
  for (const uint32_t count : rows) {
    total += count;
  }
  for (size_t i = 0; i < total; ++i) {
    const auto id = static_cast<int64_t>(stream * 1000 + first_row + i);
    const float pair[] = {static_cast<float>(id), -static_cast<float>(id)};
    std::memcpy(block.data + i * 8, &id, 8);
    std::memcpy(block.data + total * 8 + i * 8, pair, 8);
  }
  return block.chunks;
}

// An item over `rows` rows from row `offset` of the first chunk on.
inline NewItem MakeItem(const std::vector<ChunkRef>& chunks, uint32_t offset, uint32_t rows, double priority = 1) {
  NewItem item;
  item.window.chunks.assign(chunks.begin(), chunks.end());
  item.window.offset = offset;
  item.window.rows = rows;
  item.priority = priority;
  return item;
}

// An item over one row of its own.
inline NewItem OneRow(uint64_t id, double priority = 1) {
  return MakeItem(MakeRows(0, id, {1}), 0, 1, priority);
}

inline int64_t FirstId(const Window& window) {
  static const RowLayout layout(SmallTable().signature);
  int64_t id;
  std::memcpy(&id, window.chunks.front()->Row(layout, 0, window.offset), sizeof(id));
  return id;
}

}  // namespace waggle::testing
