#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

namespace waggle {

// The largest of many values that come, change and go, in blocks of 64, blocks of those, and so on. Nearly every change
// costs a comparison; the largest of a block is found again only once it has gone and is asked for. Values lie with the
// caller. Not thread-safe.
class BlockMaxima {
 public:
  static constexpr size_t kBlock = 64;
  static constexpr double kNone = -std::numeric_limits<double>::infinity();

  // Whether it is kept at all: where there are values before that, they need not be told.
  bool started() const { return started_; }
  void Start(size_t count) {
    started_ = true;
    levels_.clear();
    covered_ = 0;
    Cover(std::max<size_t>(count, 1));
    for (Level& level : levels_) {
      level.MarkAll();
    }
  }

  // Value number i, which was `before`, is `now`; kNone where it is not there.
  void Change(size_t i, double before, double now) {
    Cover(i + 1);
    size_t block = i;
    for (Level& level : levels_) {
      block /= kBlock;
      double& largest = level.maxima[block];
      if (now >= largest) {
        largest = now;
      } else if (before == largest) {
        level.Mark(block);
      } else if (largest != kStale) {
        return;  // Nor is it the largest of the blocks above.
      }
    }
  }

  // The largest; kNone where there is none. `value(i)` is called for values i of some blocks, also past the last one.
  template <class Value>
  double Largest(const Value& value) {
    if (levels_.empty()) {
      return kNone;
    }
    if (levels_.back().maxima[0] == kStale) {
      Repair(value);
    }
    return levels_.back().maxima[0];
  }

  // The largest of values [begin, end).
  template <class Value>
  double LargestOf(size_t begin, size_t end, const Value& value) {
    Repair(value);
    double largest = kNone;
    while (begin < end) {
      size_t level = 0;
      size_t size = 1;
      while (level < levels_.size() && begin % (size * kBlock) == 0 && begin + size * kBlock <= end) {
        size *= kBlock;
        ++level;
      }
      largest = std::max(largest, level == 0 ? value(begin) : levels_[level - 1].maxima[begin / size]);
      begin += size;
    }
    return largest;
  }

 private:
  // Larger than any value, so that a block is marked once.
  static constexpr double kStale = std::numeric_limits<double>::infinity();

  struct Level {
    void Mark(size_t block) {
      maxima[block] = kStale;
      stale.push_back(block);
    }
    void MarkAll() {
      stale.clear();
      for (size_t block = 0; block < maxima.size(); ++block) {
        Mark(block);
      }
    }

    std::vector<double> maxima;  // By block; kStale where it has to be found again.
    std::vector<size_t> stale;   // Those.
  };

  // Has blocks for so many values, up to a level of one block.
  void Cover(size_t count) {
    if (count <= covered_) {
      return;
    }
    covered_ = std::max(count, 2 * covered_);
    size_t blocks = covered_;
    for (size_t k = 0; k == 0 || blocks > 1; ++k) {
      blocks = (blocks + kBlock - 1) / kBlock;
      const bool is_new = k == levels_.size();
      if (is_new) {
        levels_.emplace_back();
      }
      levels_[k].maxima.resize(blocks, kNone);
      if (is_new) {
        levels_[k].MarkAll();
      }
    }
  }

  template <class Value>
  void Repair(const Value& value) {
    for (size_t k = 0; k < levels_.size(); ++k) {
      for (const size_t block : levels_[k].stale) {
        double largest = kNone;
        if (k == 0) {
          for (size_t i = block * kBlock; i < (block + 1) * kBlock; ++i) {
            largest = std::max(largest, value(i));
          }
        } else {
          const std::vector<double>& below = levels_[k - 1].maxima;
          const size_t end = std::min(below.size(), (block + 1) * kBlock);
          largest = *std::max_element(below.begin() + block * kBlock, below.begin() + end);
        }
        levels_[k].maxima[block] = largest;
      }
      levels_[k].stale.clear();
    }
  }

  bool started_ = false;
  size_t covered_ = 0;
  std::vector<Level> levels_;  // The blocks of each are those of 64 blocks below; the last level has one.
};

}  // namespace waggle
