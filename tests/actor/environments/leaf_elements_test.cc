#include "actor/environments/leaf_elements.h"

#include <cmath>
#include <limits>

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("an observation is refused if a choice is outside its space or a number is not finite", "[unit]") {
  const SpaceLeaf gears = MultiDiscrete("observation/gears", {4, 2});
  const int64_t right[] = {3, 1};
  const int64_t wrong[] = {3, 2};
  CHECK(CheckObservation(gears, right).ok());
  REQUIRE_CODE(CheckObservation(gears, wrong), absl::StatusCode::kInvalidArgument);
  CHECK(CheckObservation(gears, wrong).message() == "observation/gears[1]: got 2; wanted an integer in [0, 1]");

  const SpaceLeaf place = Box("observation/place", DType::kFloat32, {2}, {-1, -1}, {1, 1});
  const float numbers[] = {0, std::numeric_limits<float>::infinity()};
  REQUIRE_CODE(CheckObservation(place, numbers), absl::StatusCode::kInvalidArgument);
  CHECK(CheckObservation(place, numbers).message() == "observation/place[1]: got inf; wanted a finite number");
}

TEST_CASE("an observation outside its box is accepted, and found", "[unit]") {
  const SpaceLeaf place = Box("observation/place", DType::kFloat32, {2}, {-1, -1}, {1, 1});
  const float outside[] = {0, 5};
  CHECK(CheckObservation(place, outside).ok());
  REQUIRE_CODE(CheckElements(place, outside), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace waggle
