#include "param_server/run/cut_course.h"

#include <string>

#include "absl/status/status.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

constexpr absl::Time kStart = absl::UnixEpoch();

CutCourse NewCourse(CutCourseOptions options = {}) {
  options.keep = 2;
  return CutCourse(options, {3, 4}, kStart);
}

TEST_CASE("a cut is wanted until the learner has made it, and counts once the hub has saved it", "[unit]") {
  CutCourse cuts = NewCourse();
  CHECK(cuts.wanted() == 0);
  REQUIRE_OK(cuts.CheckNext());
  CHECK(cuts.NextNumber() == 5);
  cuts.Begin(5, kStart);
  CHECK(cuts.wanted() == 5);
  CHECK(absl::IsUnavailable(cuts.CheckNext()));
  CHECK_FALSE(cuts.TakeReport({4, 100, ""}));  // The report of an earlier cut, which is repeated.
  CHECK(cuts.TakeReport({5, 120, ""}));
  CHECK_FALSE(cuts.TakeReport({5, 120, ""}));
  CHECK(cuts.wanted() == 0);
  CHECK(cuts.in_progress() == 5);
  CHECK(cuts.numbers() == std::vector<uint64_t>{3, 4});
  cuts.Saved(5, absl::OkStatus());
  CHECK(cuts.in_progress() == 0);
  CHECK(cuts.numbers() == std::vector<uint64_t>{4, 5});
}

TEST_CASE("a cut that fails is remembered until the next one, which has another number", "[unit]") {
  CutCourse cuts = NewCourse();
  cuts.Begin(cuts.NextNumber(), kStart);
  CHECK_FALSE(cuts.TakeReport({5, 0, "the disk is full"}));
  CHECK(cuts.in_progress() == 0);
  CHECK(cuts.failed() == 5);
  CHECK(cuts.failure() == "the disk is full");
  CHECK(cuts.NextNumber() == 6);
  cuts.Begin(6, kStart);
  CHECK_FALSE(cuts.TakeReport({5, 0, "the disk is full"}));
  CHECK(cuts.wanted() == 6);
  CHECK(cuts.TakeReport({6, 7, ""}));
  cuts.Saved(6, absl::UnavailableError("no room"));
  CHECK(cuts.failed() == 6);
  CHECK(cuts.numbers() == std::vector<uint64_t>{3, 4});
}

TEST_CASE("numbers of attempts that only the learner knows are not given again", "[unit]") {
  CutCourse cuts = NewCourse();
  CHECK_FALSE(cuts.TakeReport({9, 0, "an attempt of an earlier hub"}));
  CHECK(cuts.failed() == 0);
  CHECK(cuts.NextNumber() == 10);
  CHECK_FALSE(cuts.TakeReport({~uint64_t{0}, 0, "wrong"}));
  CHECK(cuts.NextNumber() > 10);
  CHECK(cuts.NextNumber() < ~uint64_t{0} / 2);
}

TEST_CASE("cuts are due after each period, but not while one is being made", "[unit]") {
  CHECK_FALSE(NewCourse().IsDue(absl::InfiniteFuture()));
  CutCourseOptions options;
  options.period = absl::Seconds(10);
  CutCourse cuts = NewCourse(options);
  CHECK_FALSE(cuts.IsDue(kStart + absl::Seconds(9)));
  CHECK(cuts.IsDue(kStart + absl::Seconds(10)));
  cuts.Begin(5, kStart + absl::Seconds(10));
  CHECK_FALSE(cuts.IsDue(kStart + absl::Seconds(30)));
  CHECK(cuts.TakeReport({5, 1, ""}));
  cuts.Saved(5, absl::OkStatus());
  CHECK(cuts.IsDue(kStart + absl::Seconds(20)));
}

TEST_CASE("a run that can have no cuts says why", "[unit]") {
  CutCourseOptions options;
  options.why_none = "replay.durability: got none";
  const absl::Status status = NewCourse(options).CheckNext();
  CHECK(absl::IsFailedPrecondition(status));
  CHECK(status.message() == "replay.durability: got none");
}

}  // namespace
}  // namespace waggle
