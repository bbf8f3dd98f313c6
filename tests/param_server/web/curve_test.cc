#include "param_server/web/curve.h"

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("a short curve has every value", "[unit]") {
  Curve curve(4);
  CHECK(curve.Points().empty());
  curve.Add(10, 1, 5);
  curve.Add(20, 2, 7);
  const std::vector<Curve::Point> points = curve.Points();
  REQUIRE(points.size() == 2);
  CHECK(points[1].step == 20);
  CHECK(points[1].seconds == 2);
  CHECK(points[1].mean == 7);
  CHECK(points[1].low == 7);
}

TEST_CASE("a long curve is bounded, and its points have the mean and the range of their values", "[unit]") {
  Curve curve(4);
  double sum = 0;
  for (int i = 0; i < 1'000; ++i) {
    curve.Add(i, i, i % 10);
    sum += i % 10;
    const std::vector<Curve::Point> points = curve.Points();
    REQUIRE(points.size() <= 4);
    REQUIRE(points.back().step == i);
  }
  const std::vector<Curve::Point> points = curve.Points();
  REQUIRE(points.size() >= 2);
  for (size_t i = 0; i + 1 < points.size(); ++i) {
    CHECK(points[i].low == 0);
    CHECK(points[i].high == 9);
    CHECK(points[i].mean == Approx(4.5).margin(0.1));
    CHECK(points[i].step < points[i + 1].step);
  }
  CHECK(points[0].step == 255);  // A point of 256 values: four hold 1024.
}

}  // namespace
}  // namespace waggle
