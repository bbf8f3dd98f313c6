#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "replay_server/selectors/zeroed_array.h"

namespace waggle {

// Weights >= 0 of numbered leaves, and searches for the leaf at which their running sum reaches a value: draws in
// proportion to weight. All weights are 0 at first. Not thread-safe.
//
// Each sum is computed from its addends, never by adding a difference, so rounding errors do not accumulate. A node has
// 8 children: one cache line. At each level a search reads the sums before each child. An update rewrites that line.
class SumTree {
 public:
  explicit SumTree(size_t capacity);
  // Leaves with these weights, built in one pass.
  explicit SumTree(absl::Span<const double> weights);

  size_t capacity() const { return capacity_; }
  // Adds leaves of weight 0. `capacity` must not shrink. Takes O(old capacity).
  void Grow(size_t capacity);

  double Get(size_t leaf) const { return levels_[0].sums.data()[leaf]; }
  double Sum() const { return total_; }

  // `leaf` must be below capacity(); checked here and below. `weight` must be >= 0, and the sum finite.
  void Set(size_t leaf, double weight);
  // Sets many weights and rebuilds each node above them once. The last of several weights for one leaf counts.
  void SetBatch(absl::Span<const uint32_t> leaves, absl::Span<const double> weights);

  // Sets a weight cheaply: the next Rebuild() repairs the sums above. It must precede Sum() and searches.
  void SetLater(size_t leaf, double weight);
  void Rebuild();
  // Prefetches the memory that SetLater needs for this leaf.
  void Prefetch(size_t leaf) const;

  // The sum of the leaves before this one.
  double SumBefore(size_t leaf) const;

  // The first leaf i of positive weight for which the sum of leaves 0 to i is >= `query`. A query <= 0 finds the first
  // leaf of positive weight, one above the sum the last. Sum() must be positive.
  size_t Find(double query) const;
  // Finds a leaf for each query. Much faster than single calls, because their cache misses overlap.
  void FindBatch(absl::Span<const double> queries, uint32_t* leaves) const;

 private:
  // Entry i of level k + 1 belongs to entries 8 i to 8 i + 7 of level k. Level 0 has the leaves, the top one node.
  struct Level {
    ZeroedArray sums;
    ZeroedArray before;  // Sums of the preceding entries of the node. Empty in level 0.
  };

  void BuildFrom(const double* weights, size_t count);
  void RebuildNode(size_t level, size_t node);
  void RebuildFrom(size_t level);
  void Touch(size_t node);
  size_t FindExactly(double query) const;
  void FindLostOnes(absl::Span<const double> queries, uint32_t* leaves) const;

  size_t capacity_;
  std::vector<Level> levels_;
  double total_ = 0;
  // Nodes of level 1 that Rebuild must rebuild, and a bit for each node that is in the list.
  std::vector<uint32_t> touched_;
  std::vector<uint64_t> is_touched_;
};

}  // namespace waggle
