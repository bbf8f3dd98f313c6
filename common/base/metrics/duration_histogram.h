#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "absl/time/time.h"

namespace waggle {

// Counts durations by their lengths, from 100 µs to 100 s. Thread-safe; never blocks.
class DurationHistogram {
 public:
  // The largest duration of each bucket but the last, in seconds. Each is a bound of gRPC's own metrics (proposal A66),
  // which have more.
  static constexpr double kBounds[] = {0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 5, 20, 100};
  static constexpr size_t kBuckets = std::size(kBounds) + 1;

  struct Counts {
    std::array<int64_t, kBuckets> buckets{};  // Each without those below it.
    double seconds = 0;                       // The sum of all durations.
  };

  void Observe(absl::Duration duration) {
    const double seconds = absl::ToDoubleSeconds(duration);
    size_t bucket = 0;
    while (bucket + 1 < kBuckets && seconds > kBounds[bucket]) {
      ++bucket;
    }
    buckets_[bucket].fetch_add(1, std::memory_order_relaxed);
    nanoseconds_.fetch_add(absl::ToInt64Nanoseconds(duration), std::memory_order_relaxed);
  }

  Counts counts() const {
    Counts counts;
    for (size_t i = 0; i < kBuckets; ++i) {
      counts.buckets[i] = buckets_[i].load(std::memory_order_relaxed);
    }
    counts.seconds = static_cast<double>(nanoseconds_.load(std::memory_order_relaxed)) / 1e9;
    return counts;
  }

 private:
  std::array<std::atomic<int64_t>, kBuckets> buckets_{};
  std::atomic<int64_t> nanoseconds_{0};
};

}  // namespace waggle
