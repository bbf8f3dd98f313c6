#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

namespace waggle {

// Which weights > 0 there are, in buckets 3 % wide: answers "what is the smallest" after weights have come and gone, in
// constant time, where keeping an order would cost as much as the sum tree. Not thread-safe.
class WeightHistogram {
 public:
  WeightHistogram() : counts_(kBuckets), bits_(kBuckets / 64), summary_(kBuckets / 64 / 64) {}

  // Weights are finite and >= 0; 0 is ignored.
  void Add(double weight) {
    if (weight > 0) {
      const uint32_t bucket = BucketOf(weight);
      if (counts_[bucket]++ == 0) {
        bits_[bucket / 64] |= uint64_t{1} << (bucket % 64);
        summary_[bucket / 64 / 64] |= uint64_t{1} << (bucket / 64 % 64);
      }
    }
  }

  // The weight was added and not removed since.
  void Remove(double weight) {
    if (weight > 0) {
      const uint32_t bucket = BucketOf(weight);
      if (--counts_[bucket] == 0) {
        bits_[bucket / 64] &= ~(uint64_t{1} << (bucket % 64));
        if (bits_[bucket / 64] == 0) {
          summary_[bucket / 64 / 64] &= ~(uint64_t{1} << (bucket / 64 % 64));
        }
      }
    }
  }

  // A number m with m <= smallest weight < 1.04 m, for normal numbers; 0 if there is none.
  double LowerBound() const {
    for (size_t i = 0; i < summary_.size(); ++i) {
      if (summary_[i] != 0) {
        const size_t word = i * 64 + static_cast<size_t>(__builtin_ctzll(summary_[i]));
        const size_t bucket = word * 64 + static_cast<size_t>(__builtin_ctzll(bits_[word]));
        const uint64_t bits = static_cast<uint64_t>(bucket) << kDroppedBits;
        double weight;
        std::memcpy(&weight, &bits, sizeof(weight));
        return weight;
      }
    }
    return 0;
  }

 private:
  // The exponent and the upper five bits of the mantissa of an IEEE 754 number order positive numbers by size.
  static constexpr int kDroppedBits = 52 - 5;
  static constexpr size_t kBuckets = size_t{1} << (64 - 1 - kDroppedBits);

  static uint32_t BucketOf(double weight) {
    uint64_t bits;
    std::memcpy(&bits, &weight, sizeof(bits));
    return static_cast<uint32_t>(bits >> kDroppedBits);
  }

  std::vector<uint32_t> counts_;
  std::vector<uint64_t> bits_;     // Of buckets that are not empty.
  std::vector<uint64_t> summary_;  // Of words of bits_ that are not 0.
};

}  // namespace waggle
