#include "common/rl/publishing/checkpoint_schedule.h"

#include <algorithm>

namespace waggle {
namespace {

constexpr absl::Duration kFirstInterval = absl::Seconds(2);
constexpr absl::Duration kFirstRetry = absl::Seconds(1);
constexpr absl::Duration kLongestRetry = absl::Minutes(1);

}  // namespace

CheckpointSchedule::CheckpointSchedule(absl::Duration period)
    : period_(period > absl::ZeroDuration() ? period : absl::InfiniteDuration()),
      interval_(period > absl::ZeroDuration() ? std::min(kFirstInterval, period) : absl::InfiniteDuration()),
      pause_(kFirstRetry) {}

void CheckpointSchedule::Begin(absl::Time now) {
  next_ = now + interval_;
}

void CheckpointSchedule::Started(absl::Time now) {
  next_ = now + interval_;
}

void CheckpointSchedule::Ended(bool written, absl::Time now) {
  if (written) {
    interval_ = std::min(2 * interval_, period_);
    pause_ = kFirstRetry;
  } else {
    next_ = std::min(next_, now + pause_);
    pause_ = std::min(2 * pause_, kLongestRetry);
  }
}

}  // namespace waggle
