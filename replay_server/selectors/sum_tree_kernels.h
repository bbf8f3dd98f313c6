#pragma once

#include <cstddef>
#include <cstdint>

namespace waggle {

// The inner loops of SumTree, in as many forms as there are kinds of processors: all give the same leaves and sums to
// the last bit.

inline constexpr size_t kSumTreeFanOut = 8;

// The sums of the first 1, 2, … 8 of eight values. Pairs are summed first, so that the additions do not wait for each
// other. Adding a 0 leaves a sum unchanged and no sum is less than the one before it, which the searches rely on.
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

// What a search reads of a tree with nodes of 8 entries.
struct SumTreePath {
  static constexpr size_t kMaxLevels = 12;  // 8^11 leaves are more than there can be.

  size_t levels = 0;
  // Of each level above the leaves: the sum of the entries of the same node that come before, and the last node of the
  // level below.
  const double* before[kMaxLevels] = {};
  size_t last_child[kMaxLevels] = {};
  const double* leaves = nullptr;
};

// Searches that go down the tree side by side: enough to hide memory's latency, few enough to stay in the first-level
// cache.
inline constexpr size_t kSumTreeSideBySide = 64;

// The two steps of searches for `count` leaves. The queries are positive, and overwritten; `entries` are where each has
// got, 0 at first. What the next step will read is asked of the memory ahead of it.
struct SumTreeSearch {
  // Goes down from the levels `top` - 1 to `bottom` of the path.
  void (*descend)(const SumTreePath& path, size_t top, size_t bottom, size_t count, double* queries, uint32_t* entries);
  // Finds the leaves among those of each one's node.
  void (*find_leaves)(const SumTreePath& path, size_t count, const double* queries, uint32_t* entries);
};

// Recomputes what is stored of these nodes of a level: from each one's entries in `values` the sums before each entry,
// in `before` (null for leaves, of which they are not stored), and the whole sum in `sums`, a number a node.
using SumTreeRebuild = void (*)(const double* values, double* before, double* sums, const uint32_t* nodes,
                                size_t count);

// The fastest forms that this processor can run, and those that any can.
SumTreeSearch FastestSumTreeSearch();
SumTreeSearch PortableSumTreeSearch();
SumTreeRebuild FastestSumTreeRebuild();
void PortableSumTreeRebuild(const double* values, double* before, double* sums, const uint32_t* nodes, size_t count);

}  // namespace waggle
