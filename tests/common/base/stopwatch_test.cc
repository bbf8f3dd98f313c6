#include "common/base/stopwatch.h"

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("a stopwatch never runs backwards, and a new one begins at zero", "[unit]") {
  Stopwatch old;
  absl::Duration last = old.Elapsed();
  CHECK(last >= absl::ZeroDuration());
  for (int i = 0; i < 1'000; ++i) {
    const absl::Duration now = old.Elapsed();
    REQUIRE(now >= last);
    last = now;
  }
  const Stopwatch fresh;
  CHECK(fresh.Elapsed() <= old.Elapsed());
  old = fresh;
  const absl::Duration later = fresh.Elapsed();
  CHECK(old.Elapsed() >= later);
}

}  // namespace
}  // namespace waggle
