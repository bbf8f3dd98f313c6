#include "replay_server/selectors/priority_weight.h"

#include <limits>

#include "tests/support/catch.h"

namespace waggle {

TEST_CASE("a weight is the priority and epsilon to the power of the exponent", "[unit]") {
  const PriorityWeight weight{0.6, 0.01};
  REQUIRE(weight(0) == Approx(0.063096).epsilon(1e-5));
  REQUIRE(weight(10) == Approx(3.983460).epsilon(1e-6));
  REQUIRE(PriorityWeight{1, 0.5}(2) == 2.5);
  REQUIRE(PriorityWeight{0.5, 0}(9) == 3);
  REQUIRE(PriorityWeight{0, 0}(0) == 1);
}

TEST_CASE("priorities that cannot be summed are refused", "[unit]") {
  const PriorityWeight weight{0.6, 0};
  REQUIRE_OK(weight.Validate(0));
  REQUIRE_OK(weight.Validate(1e308));
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double bad : {-1.0, -1e-300, infinity, -infinity, nan}) {
    REQUIRE_CODE(weight.Validate(bad), absl::StatusCode::kInvalidArgument);
  }
  REQUIRE_CODE((PriorityWeight{2, 0}.Validate(1e200)), absl::StatusCode::kInvalidArgument);
  REQUIRE_CODE((PriorityWeight{1, 0}.Validate(1e308)), absl::StatusCode::kInvalidArgument);
}

TEST_CASE("no weight is so large that a sum could overflow", "[unit]") {
  REQUIRE(PriorityWeight{2, 0}(1e200) == PriorityWeight::kMax);
  REQUIRE(PriorityWeight{1, 0}(1e300) == PriorityWeight::kMax);
}

}  // namespace waggle
