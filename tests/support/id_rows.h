#pragma once

#include <cstring>
#include <memory>
#include <vector>

#include "common/replay/ports/replay.h"

namespace waggle::testing {

// The rows of these chunks, which identify themselves: first all "id", int64: stream * 1000 + row; then all "pair",
// float32[2]: (id, -id).
inline ByteSlices IdRows(const std::vector<ChunkInfo>& chunks) {
  std::vector<int64_t> ids;
  for (const ChunkInfo& chunk : chunks) {
    for (uint64_t row = 0; row < chunk.rows; ++row) {
      ids.push_back(static_cast<int64_t>(chunk.stream * 1000 + chunk.first_row + row));
    }
  }
  const size_t size = ids.size() * 16;
  const std::shared_ptr<char> bytes = AllocateBytes(size);
  for (size_t i = 0; i < ids.size(); ++i) {
    std::memcpy(bytes.get() + i * 8, &ids[i], 8);
    const float pair[] = {static_cast<float>(ids[i]), -static_cast<float>(ids[i])};
    std::memcpy(bytes.get() + size / 2 + i * 8, pair, 8);
  }
  return ByteSlices({bytes.get(), size, bytes});
}

}  // namespace waggle::testing
