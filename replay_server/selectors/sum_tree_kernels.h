#pragma once

#include <cstddef>
#include <cstdint>

namespace waggle {

// The inner loops of SumTree, for several kinds of processors. All give the same leaves and sums to the last bit.

inline constexpr size_t kSumTreeFanOut = 8;

// The sums of the first 1, 2, … 8 of eight values. Pairs are summed first, so that the additions overlap. The searches
// rely on two facts: adding 0 leaves a sum unchanged, and sums never decrease.
struct SumTreeRunningSums {
  explicit SumTreeRunningSums(const double* values) {
    sums[0] = values[0];
    sums[1] = values[0] + values[1];
    sums[2] = sums[1] + values[2];
    sums[3] = sums[1] + (values[2] + values[3]);
    const double pair = values[4] + values[5];
    sums[4] = sums[3] + values[4];
    sums[5] = sums[3] + pair;
    sums[6] = sums[3] + (pair + values[6]);
    sums[7] = sums[3] + (pair + (values[6] + values[7]));
  }
  double sums[kSumTreeFanOut];
};

// The parts of a tree that a search reads. Nodes have 8 entries.
struct SumTreePath {
  static constexpr size_t kMaxLevels = 12;  // 8^11 leaves are more than can exist.

  size_t levels = 0;
  // By level above the leaves: the sums of the preceding entries of the node, and the last node of the level below.
  const double* before[kMaxLevels] = {};
  size_t last_child[kMaxLevels] = {};
  const double* leaves = nullptr;
};

// Number of searches that descend side by side: enough to hide memory latency, few enough for the first-level cache.
inline constexpr size_t kSumTreeSideBySide = 64;

// The two steps of searches for `count` leaves. Queries must be positive; they are overwritten. `entries` are the
// positions of the searches, 0 at first. Each step prefetches the memory of the next.
struct SumTreeSearch {
  // Descends from level `top` - 1 of the path to level `bottom`.
  void (*descend)(const SumTreePath& path, size_t top, size_t bottom, size_t count, double* queries, uint32_t* entries);
  // Finds each search's leaf in its node.
  void (*find_leaves)(const SumTreePath& path, size_t count, const double* queries, uint32_t* entries);
};

// Recomputes the data of these nodes of a level from their entries in `values`: in `before` the sums before each entry
// (null for leaves), in `sums` the whole sum of each node.
using SumTreeRebuild = void (*)(const double* values, double* before, double* sums, const uint32_t* nodes,
                                size_t count);

// The fastest forms for this processor, and the portable ones.
SumTreeSearch FastestSumTreeSearch();
SumTreeSearch PortableSumTreeSearch();
SumTreeRebuild FastestSumTreeRebuild();
void PortableSumTreeRebuild(const double* values, double* before, double* sums, const uint32_t* nodes, size_t count);

}  // namespace waggle
