#include "replay_server/selectors/weight_histogram.h"

#include "tests/support/catch.h"

namespace waggle {

TEST_CASE("the bound on the smallest weight is 0 where there is none", "[unit]") {
  WeightHistogram histogram;
  REQUIRE(histogram.LowerBound() == 0);
  histogram.Add(0);
  REQUIRE(histogram.LowerBound() == 0);
  histogram.Remove(0);
  REQUIRE(histogram.LowerBound() == 0);
}

TEST_CASE("the bound on the smallest weight follows what is added and removed", "[unit]") {
  WeightHistogram histogram;
  for (const double weight : {3.7, 1e-200, 3.7, 1e200}) {
    histogram.Add(weight);
  }
  REQUIRE(histogram.LowerBound() <= 1e-200);
  REQUIRE(histogram.LowerBound() > 1e-200 / 1.04);
  histogram.Remove(1e-200);
  REQUIRE(histogram.LowerBound() <= 3.7);
  REQUIRE(histogram.LowerBound() > 3.7 / 1.04);
  histogram.Remove(3.7);
  REQUIRE(histogram.LowerBound() > 3.7 / 1.04);
  REQUIRE(histogram.LowerBound() <= 3.7);
  histogram.Remove(3.7);
  REQUIRE(histogram.LowerBound() > 1e200 / 1.04);
}

}  // namespace waggle
