#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <vector>

#include "absl/time/time.h"

namespace waggle {

// Tells when items were inserted from their generations, by some points of that curve. Times are too early by at most a
// second, or a thousandth of the time since the first note. Not thread-safe.
class InsertTimes {
 public:
  // Items from this generation on are inserted at this steady time or later. Neither may decrease.
  void Note(uint64_t generation, int64_t now_ns) {
    if (!points_.empty() && now_ns - points_.back().time_ns < spacing_ns_) {
      return;
    }
    points_.push_back({generation, now_ns});
    if (points_.size() > kMaxPoints) {
      for (size_t i = 0; 2 * i < points_.size(); ++i) {
        points_[i] = points_[2 * i];
      }
      points_.resize((points_.size() + 1) / 2);
      spacing_ns_ *= 2;
    }
  }

  // Null for items before the first note.
  std::optional<absl::Duration> TimeOf(uint64_t generation) const {
    const auto after = std::upper_bound(points_.begin(), points_.end(), generation,
                                        [](uint64_t wanted, const Point& point) { return wanted < point.generation; });
    return after == points_.begin() ? std::nullopt
                                    : std::optional<absl::Duration>(absl::Nanoseconds(std::prev(after)->time_ns));
  }

 private:
  struct Point {
    uint64_t generation = 0;
    int64_t time_ns = 0;
  };
  static constexpr size_t kMaxPoints = 4096;

  std::vector<Point> points_;
  int64_t spacing_ns_ = 1'000'000'000;
};

}  // namespace waggle
