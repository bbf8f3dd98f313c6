#include "common/base/metrics/sample_statistics.h"

#include <cmath>

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("a sample is described by its mean and its spread", "[unit]") {
  const SampleStatistics statistics = StatisticsOf({2, 4, 4, 4, 5, 5, 7, 9});
  CHECK(statistics.count == 8);
  CHECK(statistics.mean == 5);
  CHECK(statistics.standard_deviation == Approx(std::sqrt(32.0 / 7)));
  CHECK(statistics.StandardError() == Approx(std::sqrt(32.0 / 7 / 8)));
  CHECK(statistics.min == 2);
  CHECK(statistics.max == 9);
}

TEST_CASE("the spread of large numbers that hardly differ is not lost to rounding", "[unit]") {
  const SampleStatistics statistics = StatisticsOf({1e9, 1e9 + 1, 1e9 + 2});
  CHECK(statistics.mean == 1e9 + 1);
  CHECK(statistics.standard_deviation == Approx(1));
}

TEST_CASE("one number has no spread, and an empty sample is all zero", "[unit]") {
  const SampleStatistics one = StatisticsOf({-3});
  CHECK(one.count == 1);
  CHECK(one.mean == -3);
  CHECK(one.min == -3);
  CHECK(one.max == -3);
  CHECK(one.standard_deviation == 0);
  CHECK(one.StandardError() == 0);
  const SampleStatistics none = StatisticsOf({});
  CHECK(none.count == 0);
  CHECK(none.mean == 0);
  CHECK(none.StandardError() == 0);
}

}  // namespace
}  // namespace waggle
