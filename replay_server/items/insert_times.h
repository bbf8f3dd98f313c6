#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <vector>

#include "absl/time/time.h"

namespace waggle {

// When items were inserted, told from their generations: some points of that curve instead of a time for each item.
// What it tells is too early by a second at most, or by a thousandth of the time since the first note where that is
// more. Not thread-safe.
class InsertTimes {
 public:
  // Items from this generation on are inserted at this time (by a steady clock), or later. Neither ever falls.
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

  // None for an item that came before the first note.
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
