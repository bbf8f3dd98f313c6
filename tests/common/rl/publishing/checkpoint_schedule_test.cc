#include "common/rl/publishing/checkpoint_schedule.h"

#include <vector>

#include "tests/support/catch.h"

namespace waggle {
namespace {

absl::Time At(double seconds) {
  return absl::FromUnixSeconds(1'000'000) + absl::Seconds(seconds);
}

// The seconds up to `end` at which a checkpoint is due, if each is written at once and learning begins at second 0.
std::vector<int> WrittenBy(CheckpointSchedule* schedule, int end) {
  std::vector<int> written;
  for (int second = 0; second <= end; ++second) {
    if (schedule->IsDue(At(second))) {
      schedule->Started(At(second));
      schedule->Ended(/*written=*/true, At(second));
      written.push_back(second);
    }
  }
  return written;
}

TEST_CASE("the first checkpoint comes soon, each next one when twice as much is learned, up to the period", "[unit]") {
  CheckpointSchedule schedule(absl::Seconds(20));
  CHECK_FALSE(schedule.IsDue(At(1000)));  // Nothing is learned before the beginning.
  schedule.Begin(At(0));
  CHECK(WrittenBy(&schedule, 80) == std::vector<int>{2, 4, 8, 16, 32, 52, 72});
}

TEST_CASE("a short period holds from the beginning, and without one nothing is due", "[unit]") {
  CheckpointSchedule often(absl::Seconds(1));
  often.Begin(At(0));
  CHECK(WrittenBy(&often, 3) == std::vector<int>{1, 2, 3});
  CheckpointSchedule never(absl::ZeroDuration());
  never.Begin(At(0));
  CHECK(WrittenBy(&never, 1000).empty());
}

TEST_CASE("a checkpoint that fails is tried again with a growing pause, or at the next period if that is sooner",
          "[unit]") {
  CheckpointSchedule schedule(absl::Seconds(1000));
  schedule.Begin(At(0));
  double now = 2;
  const auto pause = [&](bool written) {
    REQUIRE(schedule.IsDue(At(now)));
    schedule.Started(At(now));
    schedule.Ended(written, At(now));
    double seconds = 0;
    while (!schedule.IsDue(At(now + seconds))) {
      seconds += 0.5;
    }
    now += seconds;
    return seconds;
  };
  CHECK(pause(true) == 2);
  CHECK(pause(true) == 4);
  CHECK(pause(true) == 8);
  CHECK(pause(false) == 1);
  CHECK(pause(false) == 2);
  CHECK(pause(false) == 4);
  CHECK(pause(false) == 8);
  CHECK(pause(false) == 16);
  CHECK(pause(false) == 16);  // Every 16 s, as without failures.
  CHECK(pause(true) == 16);
  CHECK(pause(false) == 1);
}

}  // namespace
}  // namespace waggle
