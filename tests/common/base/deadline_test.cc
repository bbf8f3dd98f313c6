#include "common/base/deadline.h"

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("the time left of a deadline shrinks to zero", "[unit]") {
  const Deadline far(absl::Hours(1));
  const absl::Duration first = far.Left();
  CHECK(first <= absl::Hours(1));
  CHECK(first > absl::Minutes(30));
  CHECK(far.Left() <= first);
  CHECK(Deadline(absl::ZeroDuration()).Left() == absl::ZeroDuration());
  CHECK(Deadline(-absl::Hours(1)).Left() == absl::ZeroDuration());
}

TEST_CASE("an infinite timeout never passes", "[unit]") {
  CHECK(Deadline(absl::InfiniteDuration()).Left() == absl::InfiniteDuration());
  CHECK(Deadline(-absl::InfiniteDuration()).Left() == absl::ZeroDuration());
}

}  // namespace
}  // namespace waggle
