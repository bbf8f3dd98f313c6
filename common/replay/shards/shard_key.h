#pragma once

#include <cstddef>
#include <cstdint>

// Keys of a sharded buffer: the shard's number above the key there, which is a slot's number below 2^32. Positive as
// int64, the type in batches.

namespace waggle {

inline constexpr int kShardShift = 48;

inline uint64_t ShardedKey(size_t shard, uint64_t key) {
  return (static_cast<uint64_t>(shard) << kShardShift) | key;
}
inline size_t ShardOfKey(uint64_t sharded) {
  return static_cast<size_t>(sharded >> kShardShift);
}
inline uint64_t KeyInShard(uint64_t sharded) {
  return sharded & ((uint64_t{1} << kShardShift) - 1);
}

}  // namespace waggle
