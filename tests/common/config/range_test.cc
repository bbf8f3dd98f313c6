#include "common/config/range.h"

#include <cmath>
#include <limits>

#include "tests/support/catch.h"

namespace waggle {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST_CASE("a range holds its bounds, except an open lower one", "[unit]") {
  CHECK(In(0, 1).Holds(0));
  CHECK(In(0, 1).Holds(1));
  CHECK_FALSE(In(0, 1).Holds(std::nextafter(1.0, 2.0)));
  CHECK_FALSE(In(0, 1).Holds(std::nextafter(0.0, -1.0)));
  CHECK_FALSE(Above(0, 1).Holds(0));
  CHECK(Above(0, 1).Holds(std::nextafter(0.0, 1.0)));
  CHECK(In(0, kInfinity).Holds(1e300));
  CHECK_FALSE(In(-kInfinity, kInfinity).Holds(std::nan("")));
}

}  // namespace
}  // namespace waggle
