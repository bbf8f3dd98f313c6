#pragma once

#include <cstddef>

#include "common/base/block_maxima.h"
#include "replay_server/selectors/sum_tree.h"

namespace waggle {

// The exact smallest positive weight of a sum tree's leaves, while they change. Not thread-safe.
class SmallestWeight {
 public:
  // Must be called for each change of a leaf's weight.
  void Change(size_t leaf, double before, double now) { negative_.Change(leaf, Negative(before), Negative(now)); }
  // Must be called if all leaves change.
  void Restart(const SumTree& tree) { negative_.Start(tree.capacity()); }

  // 0 if no leaf has a positive weight.
  double Of(const SumTree& tree) { return Positive(negative_.Largest(Values{tree})); }
  // The same for leaves [begin, end).
  double Of(const SumTree& tree, size_t begin, size_t end) {
    return Positive(negative_.LargestOf(begin, end, Values{tree}));
  }

 private:
  struct Values {
    double operator()(size_t leaf) const {
      return leaf < tree.capacity() ? Negative(tree.Get(leaf)) : BlockMaxima::kNone;
    }
    const SumTree& tree;
  };
  static double Negative(double weight) { return weight > 0 ? -weight : BlockMaxima::kNone; }
  static double Positive(double largest) { return largest == BlockMaxima::kNone ? 0 : -largest; }

  BlockMaxima negative_;
};

}  // namespace waggle
