#include "replay_server/selectors/sum_tree.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "common/base/check.h"
#include "replay_server/selectors/sum_tree_kernels.h"

namespace waggle {
namespace {

constexpr size_t kFanOut = kSumTreeFanOut;
constexpr size_t kPrefetchDistance = 32;
// If more than one in so many nodes is touched, whole levels are rebuilt, which reads memory in order.
constexpr size_t kRebuildAllFraction = 8;

double SumOfNode(const double* values) {
  return ((values[0] + values[1]) + (values[2] + values[3])) + ((values[4] + values[5]) + (values[6] + values[7]));
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

// Recomputes a node's data: the sums before each entry, and its whole sum one level up.
inline void SumTree::RebuildNode(size_t level, size_t node) {
  const double* values = levels_[level].sums.data() + node * kFanOut;
  double sum;
  if (level == 0) {
    sum = SumOfNode(values);
  } else {
    const SumTreeRunningSums running(values);
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
  WAGGLE_CHECK(leaf < capacity_, "a leaf of the tree");
  levels_[0].sums.data()[leaf] = weight;
  size_t node = leaf / kFanOut;
  // Fetches the whole path at once instead of missing the cache level by level.
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
  WAGGLE_CHECK(leaf < capacity_, "a leaf of the tree");
  levels_[0].sums.data()[leaf] = weight;
  // A node's leaves are one cache line, which is cached now. Summing them for each leaf costs less than marking them.
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
  WAGGLE_CHECK(leaves.size() == weights.size(), "a weight for each leaf");
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (i + kPrefetchDistance < leaves.size()) {
      Prefetch(leaves[i + kPrefetchDistance]);
    }
    SetLater(leaves[i], weights[i]);
  }
  Rebuild();
}

void SumTree::Rebuild() {
  static const SumTreeRebuild rebuild = FastestSumTreeRebuild();
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
    double* sums = level + 1 < levels_.size() ? levels_[level + 1].sums.data() : &total_;
    rebuild(levels_[level].sums.data(), levels_[level].before.data(), sums, touched_.data(), count);
    // The touched parents are appended.
    for (size_t i = 0; i < count; ++i) {
      Touch(touched_[i] / kFanOut);
    }
    touched_.erase(touched_.begin(), touched_.begin() + static_cast<std::ptrdiff_t>(count));
  }
  for (const uint32_t node : touched_) {
    is_touched_[node / 64] = 0;
  }
  touched_.clear();
}

double SumTree::SumBefore(size_t leaf) const {
  const double* leaves = levels_[0].sums.data();
  double sum = 0;
  for (size_t i = leaf - leaf % kFanOut; i < leaf; ++i) {
    sum += leaves[i];
  }
  size_t entry = leaf / kFanOut;
  for (size_t level = 1; level < levels_.size(); ++level, entry /= kFanOut) {
    sum += levels_[level].before.data()[entry];
  }
  return sum;
}

size_t SumTree::Find(double query) const {
  uint32_t leaf = 0;
  FindBatch(absl::MakeConstSpan(&query, 1), &leaf);
  return leaf;
}

void SumTree::FindBatch(absl::Span<const double> queries, uint32_t* leaves) const {
  static const SumTreeSearch search = FastestSumTreeSearch();
  constexpr double kLeast = std::numeric_limits<double>::denorm_min();
  SumTreePath path;
  path.levels = levels_.size() - 1;
  path.leaves = levels_[0].sums.data();
  for (size_t level = 0; level < path.levels; ++level) {
    path.before[level] = levels_[level + 1].before.data();
    path.last_child[level] = levels_[level].sums.size() / kFanOut - 1;
  }
  // Groups of searches follow each other down the tree. While one passes the upper levels, which are cached, the two
  // lowest levels are fetched for the groups before it.
  constexpr size_t kGroup = kSumTreeSideBySide;
  constexpr size_t kGroups = 3;
  double query[kGroups][kGroup];
  const size_t groups = (queries.size() + kGroup - 1) / kGroup;
  const auto count = [&](size_t group) { return std::min(kGroup, queries.size() - group * kGroup); };
  for (size_t group = 0; group < groups + kGroups - 1; ++group) {
    if (group >= 2) {
      const size_t last = group - 2;
      search.find_leaves(path, count(last), query[last % kGroups], leaves + last * kGroup);
      FindLostOnes(queries.subspan(last * kGroup, kGroup), leaves + last * kGroup);
    }
    if (group >= 1 && group <= groups) {
      const size_t second = group - 1;
      search.descend(path, std::min<size_t>(path.levels, 1), 0, count(second), query[second % kGroups],
                     leaves + second * kGroup);
    }
    if (group < groups) {
      for (size_t i = 0; i < count(group); ++i) {
        // Above 0, so that leading leaves of weight 0 are passed over.
        query[group % kGroups][i] = std::max(kLeast, queries[group * kGroup + i]);
      }
      std::fill_n(leaves + group * kGroup, count(group), 0U);
      search.descend(path, path.levels, 1, count(group), query[group % kGroups], leaves + group * kGroup);
    }
  }
}

// If rounding has put a query past a node's end, the search went on to the node's last entry.
void SumTree::FindLostOnes(absl::Span<const double> queries, uint32_t* leaves) const {
  const double* weights = levels_[0].sums.data();
  for (size_t i = 0; i < queries.size(); ++i) {
    if (!(weights[leaves[i]] > 0)) {
      leaves[i] = static_cast<uint32_t>(FindExactly(queries[i]));
    }
  }
}

// The same search, but each query stays within its node and entries of sum 0 are passed over.
size_t SumTree::FindExactly(double query) const {
  size_t node = 0;
  for (size_t level = levels_.size(); level-- > 0;) {
    const double* values = levels_[level].sums.data() + node * kFanOut;
    const SumTreeRunningSums running(values);
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
