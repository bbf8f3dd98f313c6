#include "param_server/run/learner_group.h"

#include "tests/support/catch.h"

namespace waggle {
namespace {

using Workers = std::vector<std::string>;

const absl::Time kNow = absl::FromUnixSeconds(1'000);

TEST_CASE("the first group is formed once all learners have joined, and gives each a rank", "[unit]") {
  LearnerGroup group(2, absl::InfiniteFuture());
  CHECK_FALSE(group.IsDue({}, kNow));
  CHECK_FALSE(group.IsDue({"a"}, kNow));
  CHECK(group.IsDue({"a", "b"}, kNow));
  CHECK_FALSE(group.SeatOf("a").has_value());
  group.Form(3, {"a", "b"});
  CHECK(group.SeatOf("a") == GroupSeat{3, 0, 2});
  CHECK(group.SeatOf("b") == GroupSeat{3, 1, 2});
  CHECK_FALSE(group.SeatOf("c").has_value());
  CHECK_FALSE(group.IsDue({"a", "b"}, kNow));
}

TEST_CASE("another group is due when a member is gone, has been replaced or has come back", "[unit]") {
  LearnerGroup group(2, absl::InfiniteFuture());
  group.Form(3, {"a", "b"});
  CHECK(group.IsDue({"a"}, kNow));
  CHECK(group.IsDue({"b"}, kNow));
  CHECK(group.IsDue({"a", "c"}, kNow));
  CHECK_FALSE(group.IsDue({}, kNow));  // Without a learner.
  group.Form(4, {"b"});
  CHECK(group.SeatOf("b") == GroupSeat{4, 0, 1});
  CHECK_FALSE(group.SeatOf("a").has_value());
  CHECK_FALSE(group.IsDue({"b"}, kNow));
  CHECK(group.IsDue({"a", "b"}, kNow));
}

TEST_CASE("a group in which a learner cannot reach the others is formed again, once", "[unit]") {
  LearnerGroup group(2, absl::InfiniteFuture());
  group.Form(3, {"a", "b"});
  group.ReportBroken(0);
  group.ReportBroken(2);
  CHECK_FALSE(group.IsDue({"a", "b"}, kNow));
  group.ReportBroken(3);
  CHECK(group.IsDue({"a", "b"}, kNow));
  group.Form(4, {"a", "b"});
  group.ReportBroken(3);  // The report of the other learner.
  CHECK_FALSE(group.IsDue({"a", "b"}, kNow));
}

TEST_CASE("a restarted hub does not wait for ever for the learners of the earlier one", "[unit]") {
  const LearnerGroup group(2, kNow);
  CHECK_FALSE(group.IsDue({"a"}, kNow - absl::Seconds(1)));
  CHECK(group.IsDue({"a"}, kNow));
  CHECK_FALSE(group.IsDue({}, kNow));
}

}  // namespace
}  // namespace waggle
