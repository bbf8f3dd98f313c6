#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "replay_server/selectors/zeroed_array.h"

namespace waggle {

// Weights >= 0 on numbered leaves, and the leaf at which their running sum reaches a given value: what drawing in
// proportion to a weight needs. All leaves weigh 0 at first. Not thread-safe.
//
// Every sum is computed from what it is the sum of, never by adding a difference, so rounding errors do not gather.
// A node has 8 children, one cache line. A search reads, at each level, the sums of the siblings before each child; an
// update rewrites that line from the children's sums.
class SumTree {
 public:
  explicit SumTree(size_t capacity);
  // Leaves with these weights, built bottom-up in one pass.
  explicit SumTree(absl::Span<const double> weights);

  size_t capacity() const { return capacity_; }
  // Adds leaves of weight 0; `capacity` is not less than before. Takes time in proportion to the old capacity.
  void Grow(size_t capacity);

  double Get(size_t leaf) const { return levels_[0].sums.data()[leaf]; }
  double Sum() const { return total_; }

  // `leaf` is below capacity(), which is checked here and below; `weight` is finite and >= 0, and so is the sum of all.
  void Set(size_t leaf, double weight);
  // Sets many, each node above them rebuilt once: as many weights as leaves. Of several weights for one leaf the last
  // one holds.
  void SetBatch(absl::Span<const uint32_t> leaves, absl::Span<const double> weights);

  // Sets one so that setting many costs little: the sums above are repaired by the next Rebuild(), which must come
  // before Sum() or a search.
  void SetLater(size_t leaf, double weight);
  void Rebuild();
  // Asks for the memory that setting this leaf will need.
  void Prefetch(size_t leaf) const;

  // The sum of the leaves below this one.
  double SumBefore(size_t leaf) const;

  // The first leaf i for which the sum of the weights of leaves 0 to i is not less than `query`, but never one of
  // weight 0: a query <= 0 finds the first leaf that weighs something, one above the sum the last. Sum() must be
  // positive.
  size_t Find(double query) const;
  // Finds queries.size() of them into `leaves`. Much faster than one by one, because their cache misses overlap.
  void FindBatch(absl::Span<const double> queries, uint32_t* leaves) const;

 private:
  // Entry i of level k + 1 belongs to entries 8 i to 8 i + 7 of level k. Level 0 are the leaves; the top level has one
  // node, at most 8 entries.
  struct Level {
    ZeroedArray sums;
    ZeroedArray before;  // The sum of the entries of the same node that come before. Not there for level 0.
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
  // Nodes of level 1 that are to be rebuilt, and a bit for each so that none is there twice.
  std::vector<uint32_t> touched_;
  std::vector<uint64_t> is_touched_;
};

}  // namespace waggle
