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

TEST_CASE("a range names the wanted values", "[unit]") {
  CHECK(In(0, 1).NumberText() == "a number in [0, 1]");
  CHECK(Above(0, 0.5).NumberText() == "a number in (0, 0.5]");
  CHECK(In(0, kInfinity).NumberText() == "a number >= 0");
  CHECK(Above(0, kInfinity).NumberText() == "a number > 0");
  CHECK(In(-kInfinity, 3).NumberText() == "a number <= 3");
  CHECK(In(-kInfinity, kInfinity).NumberText() == "a finite number");
  CHECK(In(1, 4096).IntegerText() == "an integer in [1, 4096]");
  CHECK(In(1, static_cast<double>(std::numeric_limits<int64_t>::max())).IntegerText() ==
        "an integer in [1, 9223372036854775807]");
}

}  // namespace
}  // namespace waggle
