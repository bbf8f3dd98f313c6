#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

namespace waggle {

// The largest of many values that come, change and go: each change costs a comparison, and asking for the largest costs
// looking again at those blocks of 64 whose largest value has gone since, and then at all blocks, where it has gone at
// all. Values lie with the caller. Not thread-safe.
class BlockMaxima {
 public:
  static constexpr size_t kBlock = 64;
  static constexpr double kNone = -std::numeric_limits<double>::infinity();

  // Whether it is kept at all: nothing has to be told before.
  bool started() const { return started_; }
  void Start(size_t count) {
    started_ = true;
    known_ = false;
    stale_.clear();
    maxima_.assign((count + kBlock - 1) / kBlock, kNone);
    for (size_t block = 0; block < maxima_.size(); ++block) {
      MarkStale(block);
    }
  }

  // Value number i, which was `before`, is `now`; kNone where it is not there.
  void Change(size_t i, double before, double now) {
    const size_t block = i / kBlock;
    if (block >= maxima_.size()) {
      maxima_.resize(block + 1, kNone);
    }
    if (now >= maxima_[block]) {
      maxima_[block] = now;
    } else if (before == maxima_[block]) {
      MarkStale(block);
    }
    if (known_ && now >= largest_) {
      largest_ = now;
    } else if (before == largest_) {
      known_ = false;
    }
  }

  // The largest; kNone where there is none. `value(i)` is called for values i of some blocks, also past the last one.
  template <class Value>
  double Largest(const Value& value) {
    if (known_) {
      return largest_;
    }
    for (const size_t block : stale_) {
      double largest = kNone;
      for (size_t i = block * kBlock; i < (block + 1) * kBlock; ++i) {
        largest = std::max(largest, value(i));
      }
      maxima_[block] = largest;
    }
    stale_.clear();
    largest_ = maxima_.empty() ? kNone : *std::max_element(maxima_.begin(), maxima_.end());
    known_ = true;
    return largest_;
  }

 private:
  void MarkStale(size_t block) {
    // Nothing is as large, so that it is marked once.
    maxima_[block] = std::numeric_limits<double>::infinity();
    stale_.push_back(block);
  }

  bool started_ = false;
  bool known_ = false;  // Whether largest_ is.
  double largest_ = kNone;
  std::vector<double> maxima_;  // By block; infinite where it has to be found again.
  std::vector<size_t> stale_;   // Those.
};

}  // namespace waggle
