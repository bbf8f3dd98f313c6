#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace waggle::bench {

// A simple implementation that ignores the cache: a binary tree of sums in an array, one leaf at a time.
class PlainTree {
 public:
  explicit PlainTree(const std::vector<double>& weights) {
    for (leaves_ = 1; leaves_ < weights.size();) {
      leaves_ *= 2;
    }
    sums_.resize(2 * leaves_);
    std::copy(weights.begin(), weights.end(), sums_.begin() + static_cast<std::ptrdiff_t>(leaves_));
    for (size_t node = leaves_ - 1; node > 0; --node) {
      sums_[node] = sums_[2 * node] + sums_[2 * node + 1];
    }
  }
  double Sum() const { return sums_[1]; }
  uint32_t Find(double query) const {
    size_t node = 1;
    while (node < leaves_) {
      node *= 2;
      if (query > sums_[node]) {
        query -= sums_[node++];
      }
    }
    return static_cast<uint32_t>(node - leaves_);
  }
  void Set(size_t leaf, double weight) {
    size_t node = leaves_ + leaf;
    sums_[node] = weight;
    for (node /= 2; node > 0; node /= 2) {
      sums_[node] = sums_[2 * node] + sums_[2 * node + 1];
    }
  }

 private:
  size_t leaves_ = 0;
  std::vector<double> sums_;
};

}  // namespace waggle::bench
