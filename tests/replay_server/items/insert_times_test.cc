#include "replay_server/items/insert_times.h"

#include "tests/support/catch.h"

namespace waggle {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

TEST_CASE("inserts before the first note have no time", "[unit]") {
  InsertTimes times;
  CHECK_FALSE(times.TimeOf(5).has_value());
  times.Note(10, 3 * kSecond);
  CHECK_FALSE(times.TimeOf(9).has_value());
  CHECK(times.TimeOf(10) == absl::Seconds(3));
  CHECK(times.TimeOf(1000) == absl::Seconds(3));
}

TEST_CASE("times are early by at most a second or a thousandth of the noted time", "[unit]") {
  InsertTimes times;
  // Ten inserts a second for three days, with an hour of silence on the second day.
  const auto at = [](int64_t insert) {
    return (insert / 10 + (insert > 1'000'000 ? 3600 : 0)) * kSecond + insert % 10 * (kSecond / 10);
  };
  constexpr int64_t kInserts = 3 * 86'400 * 10;
  for (int64_t i = 0; i < kInserts; ++i) {
    times.Note(static_cast<uint64_t>(i + 77), at(i));
  }
  const int64_t allowed = at(kInserts) / 1000;
  for (int64_t i = 0; i < kInserts; i += 997) {
    CAPTURE(i);
    const int64_t told = absl::ToInt64Nanoseconds(*times.TimeOf(static_cast<uint64_t>(i + 77)));
    REQUIRE(told <= at(i));
    REQUIRE(at(i) - told <= allowed);
  }
}

}  // namespace
}  // namespace waggle
