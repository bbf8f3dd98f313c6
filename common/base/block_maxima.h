#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace waggle {

// The largest of many changing values. A change costs two comparisons: with the largest of its block of 64 and of all.
// Lost maxima are searched for only on request. The caller stores the values. Not thread-safe.
class BlockMaxima {
 public:
  static constexpr size_t kBlock = 64;
  static constexpr double kNone = -std::numeric_limits<double>::infinity();

  // True after Start(). Values need not be reported before.
  bool started() const { return started_; }
  // The caller has values [0, count), which are unknown yet.
  void Start(size_t count) {
    started_ = true;
    copies_ = 0;
    stale_.clear();
    maxima_.assign((count + kBlock - 1) / kBlock, kNone);
    for (size_t block = 0; block < maxima_.size(); ++block) {
      MarkStale(block);
    }
  }

  // Value i, which was `before`, is `now`; kNone if missing.
  void Change(size_t i, double before, double now) {
    const size_t block = i / kBlock;
    Cover(block + 1);
    if (now > maxima_[block]) {
      maxima_[block] = now;
    } else if (before == maxima_[block] && now < before) {
      MarkStale(block);
    }
    if (copies_ == 0 || now == before) {
      return;
    }
    if (now > largest_) {
      largest_ = now;
      copies_ = 1;
    } else if (now == largest_) {
      ++copies_;
    } else if (before == largest_) {
      --copies_;
    }
  }

  // The largest; kNone if there is none. Calls `value(i)` for all i of some blocks, also past the last value.
  template <class Value>
  double Largest(const Value& value) {
    if (copies_ == 0) {
      Repair(value);
      const auto found = std::max_element(maxima_.begin(), maxima_.end());
      if (found == maxima_.end() || *found == kNone) {
        return kNone;
      }
      largest_ = *found;
      // Counting some of equal values is enough: no search is needed while one of them is left.
      constexpr int64_t kEnough = 256;
      for (auto block = found; block != maxima_.end() && copies_ < kEnough; ++block) {
        if (*block == largest_) {
          const auto begin = static_cast<size_t>(block - maxima_.begin()) * kBlock;
          for (size_t i = begin; i < begin + kBlock; ++i) {
            copies_ += value(i) == largest_ ? 1 : 0;
          }
        }
      }
    }
    return largest_;
  }

  // The largest of values [begin, end).
  template <class Value>
  double LargestOf(size_t begin, size_t end, const Value& value) {
    Cover((end + kBlock - 1) / kBlock);
    Repair(value);
    double largest = kNone;
    while (begin < end) {
      const bool whole = begin % kBlock == 0 && begin + kBlock <= end;
      largest = std::max(largest, whole ? maxima_[begin / kBlock] : value(begin));
      begin += whole ? kBlock : 1;
    }
    return largest;
  }

 private:
  // Larger than any value, so that a block is marked once.
  static constexpr double kStale = std::numeric_limits<double>::infinity();

  void Cover(size_t blocks) {
    if (blocks > maxima_.size()) {
      maxima_.resize(std::max(blocks, 2 * maxima_.size()), kNone);
    }
  }
  void MarkStale(size_t block) {
    maxima_[block] = kStale;
    stale_.push_back(block);
  }

  template <class Value>
  void Repair(const Value& value) {
    for (const size_t block : stale_) {
      double largest = kNone;
      for (size_t i = block * kBlock; i < (block + 1) * kBlock; ++i) {
        largest = std::max(largest, value(i));
      }
      maxima_[block] = largest;
    }
    stale_.clear();
  }

  bool started_ = false;
  double largest_ = kNone;
  int64_t copies_ = 0;          // Known values equal to largest_; 0 if largest_ is unknown.
  std::vector<double> maxima_;  // By block; kStale if it must be searched.
  std::vector<size_t> stale_;   // Blocks with kStale.
};

}  // namespace waggle
