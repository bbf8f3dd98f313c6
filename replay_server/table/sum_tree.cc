#include "replay_server/table/sum_tree.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace waggle {
namespace {

constexpr size_t kFanOut = 8;
// Searches that go down the tree side by side: enough to hide memory's latency, few enough to stay in the first-level
// cache.
constexpr size_t kSideBySide = 64;
constexpr size_t kPrefetchDistance = 32;
// Where more than one in so many nodes is touched, whole levels are rebuilt, which goes through memory in order.
constexpr size_t kRebuildAllFraction = 8;

// Two doubles, or two lanes of comparison results, in one register of any x86-64 or AArch64 processor.
using Pair = double __attribute__((vector_size(16), may_alias));
using PairMask = int64_t __attribute__((vector_size(16)));

// The sums of the first 1, 2, … 8 of eight values. Pairs are summed first, so that the additions do not wait for each
// other. Adding a 0 leaves a sum unchanged and no sum is less than the one before it, which the searches rely on.
struct RunningSums {
  explicit RunningSums(const double* values) {
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
  double sums[kFanOut];
};

double SumOfNode(const double* values) {
  return ((values[0] + values[1]) + (values[2] + values[3])) + ((values[4] + values[5]) + (values[6] + values[7]));
}

// How many lanes are set, of masks that were added up.
inline size_t CountLanes(PairMask sum) {
  return static_cast<size_t>(-(sum[0] + sum[1]));
}

// One level of a search: returns the child whose range holds `*query` and makes the query relative to it. `before` has
// 0 first and the query is positive, so at least one entry is below it.
inline size_t Descend(const double* before, double* query) {
  const Pair wanted = {*query, *query};
  PairMask below = {0, 0};
  for (size_t i = 0; i < kFanOut; i += 2) {
    below += *reinterpret_cast<const Pair*>(before + i) < wanted;
  }
  const size_t child = CountLanes(below) - 1;
  *query -= before[child];
  return child;
}

// The same among eight leaves, whose running sums are not stored but computed: as RunningSums does, in registers.
inline size_t FindAmongLeaves(const double* values, double query) {
  const Pair zero = {0, 0};
  const Pair* pairs = reinterpret_cast<const Pair*>(values);
  Pair a = pairs[0] + __builtin_shufflevector(zero, pairs[0], 0, 2);
  Pair b = pairs[1] + __builtin_shufflevector(zero, pairs[1], 0, 2);
  Pair c = pairs[2] + __builtin_shufflevector(zero, pairs[2], 0, 2);
  Pair d = pairs[3] + __builtin_shufflevector(zero, pairs[3], 0, 2);
  b += __builtin_shufflevector(a, a, 1, 1);
  d += __builtin_shufflevector(c, c, 1, 1);
  const Pair first_four = __builtin_shufflevector(b, b, 1, 1);
  c += first_four;
  d += first_four;
  const Pair wanted = {query, query};
  const PairMask not_the_last = {-1, 0};
  return CountLanes((a < wanted) + (b < wanted) + (c < wanted) + ((d < wanted) & not_the_last));
}

size_t NodesFor(size_t entries) {
  return (entries + kFanOut - 1) / kFanOut;
}

}  // namespace

SumTree::SumTree(size_t capacity) : capacity_(capacity) {
  BuildFrom(nullptr, 0);
}

SumTree::SumTree(absl::Span<const double> weights) : capacity_(weights.size()) {
  BuildFrom(weights.data(), weights.size());
}

void SumTree::Grow(size_t capacity) {
  const Level leaves = std::move(levels_[0]);
  const size_t old_capacity = capacity_;
  capacity_ = capacity;
  levels_.clear();
  BuildFrom(leaves.sums.data(), old_capacity);
}

void SumTree::BuildFrom(const double* weights, size_t count) {
  size_t nodes = std::max<size_t>(NodesFor(capacity_), 1);
  levels_.emplace_back();
  levels_.back().sums = ZeroedArray(nodes * kFanOut);
  while (nodes > 1) {
    nodes = NodesFor(nodes);
    levels_.emplace_back();
    levels_.back().sums = ZeroedArray(nodes * kFanOut);
    levels_.back().before = ZeroedArray(nodes * kFanOut);
  }
  const size_t nodes_above = levels_.size() > 1 ? levels_[1].sums.size() / kFanOut : 1;
  is_touched_.assign((nodes_above + 63) / 64, 0);
  total_ = 0;
  if (count > 0) {
    std::memcpy(levels_[0].sums.data(), weights, count * sizeof(double));
    RebuildFrom(0);
  }
}

// Recomputes what is stored of a node: the sums before each entry, and the whole sum one level up.
inline void SumTree::RebuildNode(size_t level, size_t node) {
  const double* values = levels_[level].sums.data() + node * kFanOut;
  double sum;
  if (level == 0) {
    sum = SumOfNode(values);
  } else {
    const RunningSums running(values);
    double* before = levels_[level].before.data() + node * kFanOut;
    before[0] = 0;
    for (size_t i = 1; i < kFanOut; ++i) {
      before[i] = running.sums[i - 1];
    }
    sum = running.sums[kFanOut - 1];
  }
  if (level + 1 < levels_.size()) {
    levels_[level + 1].sums.data()[node] = sum;
  } else {
    total_ = sum;
  }
}

void SumTree::RebuildFrom(size_t level) {
  for (; level < levels_.size(); ++level) {
    const size_t nodes = levels_[level].sums.size() / kFanOut;
    for (size_t node = 0; node < nodes; ++node) {
      RebuildNode(level, node);
    }
  }
}

void SumTree::Set(size_t leaf, double weight) {
  levels_[0].sums.data()[leaf] = weight;
  size_t node = leaf / kFanOut;
  // The whole path is known: ask for it at once instead of missing the cache level by level.
  for (size_t level = 1, entry = node; level < levels_.size(); ++level, entry /= kFanOut) {
    __builtin_prefetch(levels_[level].sums.data() + entry, 1);
    __builtin_prefetch(levels_[level].before.data() + entry, 1);
  }
  for (size_t level = 0; level < levels_.size(); ++level, node /= kFanOut) {
    RebuildNode(level, node);
  }
}

inline void SumTree::Touch(size_t node) {
  uint64_t& word = is_touched_[node / 64];
  const uint64_t bit = uint64_t{1} << (node % 64);
  if ((word & bit) == 0) {
    word |= bit;
    touched_.push_back(static_cast<uint32_t>(node));
  }
}

void SumTree::SetLater(size_t leaf, double weight) {
  levels_[0].sums.data()[leaf] = weight;
  // A node's leaves are one cache line, which is here now: summing them again for each of its leaves costs less than
  // remembering that they have to be.
  const size_t node = leaf / kFanOut;
  RebuildNode(0, node);
  Touch(node / kFanOut);
}

void SumTree::Prefetch(size_t leaf) const {
  __builtin_prefetch(levels_[0].sums.data() + leaf, 1);
  if (levels_.size() > 1) {
    __builtin_prefetch(levels_[1].sums.data() + leaf / kFanOut, 1);
  }
}

void SumTree::SetBatch(absl::Span<const uint32_t> leaves, absl::Span<const double> weights) {
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (i + kPrefetchDistance < leaves.size()) {
      Prefetch(leaves[i + kPrefetchDistance]);
    }
    SetLater(leaves[i], weights[i]);
  }
  Rebuild();
}

void SumTree::Rebuild() {
  const size_t nodes = levels_.size() > 1 ? levels_[1].sums.size() / kFanOut : 0;
  if (touched_.size() > nodes / kRebuildAllFraction) {
    std::fill(is_touched_.begin(), is_touched_.end(), 0);
    touched_.clear();
    RebuildFrom(1);
    return;
  }
  for (size_t level = 1; level < levels_.size() && !touched_.empty(); ++level) {
    const size_t count = touched_.size();
    for (const uint32_t node : touched_) {
      is_touched_[node / 64] = 0;
    }
    // Their parents gather behind them.
    for (size_t i = 0; i < count; ++i) {
      const size_t node = touched_[i];
      RebuildNode(level, node);
      Touch(node / kFanOut);
    }
    touched_.erase(touched_.begin(), touched_.begin() + static_cast<std::ptrdiff_t>(count));
  }
  for (const uint32_t node : touched_) {
    is_touched_[node / 64] = 0;
  }
  touched_.clear();
}

size_t SumTree::Find(double query) const {
  uint32_t leaf = 0;
  FindBatch(absl::MakeConstSpan(&query, 1), &leaf);
  return leaf;
}

void SumTree::FindBatch(absl::Span<const double> queries, uint32_t* leaves) const {
  constexpr double kLeast = std::numeric_limits<double>::denorm_min();
  double query[kSideBySide];
  uint32_t entry[kSideBySide];
  for (size_t begin = 0; begin < queries.size(); begin += kSideBySide) {
    const size_t count = std::min(kSideBySide, queries.size() - begin);
    for (size_t i = 0; i < count; ++i) {
      // Above 0, so that leaves of weight 0 in front are passed over.
      query[i] = queries[begin + i] > kLeast ? queries[begin + i] : kLeast;
      entry[i] = 0;
    }
    for (size_t level = levels_.size() - 1; level > 0; --level) {
      const double* before = levels_[level].before.data();
      const double* next = level > 1 ? levels_[level - 1].before.data() : levels_[0].sums.data();
      // Where rounding has put a query past the end of the last node, the node's last entry may stand for nothing.
      const size_t last_child = levels_[level - 1].sums.size() / kFanOut - 1;
      for (size_t i = 0; i < count; ++i) {
        const size_t node = entry[i];
        const size_t child = std::min(node * kFanOut + Descend(before + node * kFanOut, &query[i]), last_child);
        entry[i] = static_cast<uint32_t>(child);
        __builtin_prefetch(next + child * kFanOut);
      }
    }
    const double* values = levels_[0].sums.data();
    for (size_t i = 0; i < count; ++i) {
      const size_t node = entry[i];
      const size_t leaf = node * kFanOut + FindAmongLeaves(values + node * kFanOut, query[i]);
      // Where rounding has put the query past the end of a node, the search went on to the node's last entry.
      leaves[begin + i] = static_cast<uint32_t>(values[leaf] > 0 ? leaf : FindExactly(queries[begin + i]));
    }
  }
}

// The same search with every query held within its node, and entries of sum 0 passed over.
size_t SumTree::FindExactly(double query) const {
  size_t node = 0;
  for (size_t level = levels_.size(); level-- > 0;) {
    const double* values = levels_[level].sums.data() + node * kFanOut;
    const RunningSums running(values);
    size_t chosen = 0;
    for (size_t i = 0; i < kFanOut; ++i) {
      if (values[i] > 0) {
        chosen = i;
        if (!(running.sums[i] < query)) {
          break;
        }
      }
    }
    query -= chosen > 0 ? running.sums[chosen - 1] : 0;
    node = node * kFanOut + chosen;
  }
  return node;
}

}  // namespace waggle
