#include "cli/experiments/sweep.h"

#include "absl/strings/str_cat.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::ValueOf;
using Values = std::vector<std::string>;

TEST_CASE("a sweep has a key and values, which may be lists, sections and quoted texts", "[unit]") {
  const SweepAxis axis = ValueOf(ParseSweepAxis("a.b=1e-4, [64, 64],{points: [[0, 1], [9, 0]]},'x, y'"));
  CHECK(axis.key == "a.b");
  CHECK(axis.values == Values{"1e-4", "[64, 64]", "{points: [[0, 1], [9, 0]]}", "'x, y'"});
  CHECK(ValueOf(ParseSweepAxis("a=b=c")).values == Values{"b=c"});
  for (const char* const wrong : {"a", "=1", "a=", "a=1,,2", "a=1,2,1"}) {
    INFO(wrong);
    REQUIRE_CODE(ParseSweepAxis(wrong).status(), absl::StatusCode::kInvalidArgument);
  }
}

TEST_CASE("seeds are numbers and ranges", "[unit]") {
  const SweepAxis axis = ValueOf(ParseSeeds("1-3,9"));
  CHECK(axis.key == "experiment.seed");
  CHECK(axis.values == Values{"1", "2", "3", "9"});
  CHECK(ValueOf(ParseSeeds("0-999")).values.size() == 1000);
  CHECK(ValueOf(ParseSeeds("9223372036854775807")).values == Values{"9223372036854775807"});
  for (const char* const wrong : {"", "x", "3-1", "1-2-3", "-1", "1,1", "1-2,2", "0-1000", "1-99999999999999999999"}) {
    INFO(wrong);
    REQUIRE_CODE(ParseSeeds(wrong).status(), absl::StatusCode::kInvalidArgument);
  }
}

TEST_CASE("axes are combined, and the last one varies fastest", "[unit]") {
  CHECK(ValueOf(CombineAxes({})).empty());
  const std::vector<SweepValues> combined = ValueOf(CombineAxes({{"a", {"1", "2"}}, {"s", {"7", "8"}}}));
  CHECK(combined ==
        std::vector<SweepValues>{
            {{"a", "1"}, {"s", "7"}}, {{"a", "1"}, {"s", "8"}}, {{"a", "2"}, {"s", "7"}}, {{"a", "2"}, {"s", "8"}}});
}

TEST_CASE("a key that is swept twice and too many combinations are refused", "[unit]") {
  REQUIRE_CODE(CombineAxes({{"a", {"1"}}, {"a", {"2"}}}).status(), absl::StatusCode::kInvalidArgument);
  SweepAxis many = {"a", {}};
  for (int i = 0; i < 40; ++i) {
    many.values.push_back(absl::StrCat(i));
  }
  SweepAxis others = {"b", many.values};
  REQUIRE_CODE(CombineAxes({many, others}).status(), absl::StatusCode::kInvalidArgument);
  others.values.resize(25);
  CHECK(ValueOf(CombineAxes({many, others})).size() == 1000);
}

}  // namespace
}  // namespace waggle
