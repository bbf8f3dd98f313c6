#pragma once

#include <cstddef>

#include "common/base/block_maxima.h"
#include "replay_server/selectors/sum_tree.h"

namespace waggle {

// The smallest weight > 0 of a sum tree's leaves, exactly, while they change. Not thread-safe.
class SmallestWeight {
 public:
  // The leaf is to have another weight.
  void Change(size_t leaf, double before, double now) { negative_.Change(leaf, Negative(before), Negative(now)); }
  // All leaves have other weights.
  void Restart(const SumTree& tree) { negative_.Start(tree.capacity()); }

  // 0 where no leaf weighs anything.
  double Of(const SumTree& tree) { return Positive(negative_.Largest(Values{tree})); }
  // Of leaves [begin, end).
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
