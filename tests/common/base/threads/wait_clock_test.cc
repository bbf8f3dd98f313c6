#include "common/base/threads/wait_clock.h"

#include "tests/support/catch.h"

namespace waggle {
namespace {

// Waits until the clock shows more than before.
absl::Duration WaitForMore(const WaitClock& clock) {
  const absl::Duration before = clock.total();
  while (clock.total() <= before) {
  }
  return clock.total();
}

TEST_CASE("a wait counts while it lasts and stays counted", "[unit]") {
  WaitClock clock;
  CHECK(clock.total() == absl::ZeroDuration());
  CHECK_FALSE(clock.waiting());
  clock.Begin();
  CHECK(clock.waiting());
  const absl::Duration during = WaitForMore(clock);
  clock.End();
  CHECK_FALSE(clock.waiting());
  const absl::Duration after = clock.total();
  CHECK(after >= during);
  CHECK(clock.total() == after);
  clock.Begin();
  CHECK(WaitForMore(clock) > after);
  clock.End();
}

}  // namespace
}  // namespace waggle
