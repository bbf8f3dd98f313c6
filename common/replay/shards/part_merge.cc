#include "common/replay/shards/part_merge.h"

#include <cstddef>
#include <cstring>

#include "common/replay/shards/shard_key.h"

namespace waggle {
namespace {

template <class T>
T* Fact(const BatchLayout& layout, const char* name, char* bytes) {
  return reinterpret_cast<T*>(bytes + (*layout.Find(name))->offset);
}

}  // namespace

void PlacePart(const BatchLayout& layout, const SampledBatch& part, int64_t first_row, char* bytes) {
  for (size_t i = 0; i < layout.fields.size(); ++i) {
    const BatchField& field = layout.fields[i];
    const BatchField& from = part.layout->fields[i];
    const int64_t row_bytes = field.spec.NumBytes() / field.spec.shape[0];
    std::memcpy(bytes + field.offset + static_cast<size_t>(first_row * row_bytes), part.bytes.get() + from.offset,
                static_cast<size_t>(from.spec.NumBytes()));
  }
}

void FinishRows(const BatchLayout& layout, const ShardedDraws::Complete& complete, char* bytes) {
  if (complete.shares.size() == 1) {
    return;
  }
  auto* const keys = Fact<uint64_t>(layout, kItemKey, bytes);
  auto* const probabilities = Fact<double>(layout, kItemProbability, bytes);
  for (const ShardedDraws::Rows& rows : complete.rows) {
    for (int64_t row = rows.first; row < rows.first + rows.count; ++row) {
      keys[row] = ShardedKey(rows.shard, keys[row]);
      probabilities[row] *= complete.shares[rows.shard];
    }
  }
}

}  // namespace waggle
