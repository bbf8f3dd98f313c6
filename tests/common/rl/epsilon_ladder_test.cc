#include "common/rl/epsilon_ladder.h"

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("the ladder goes from the base down over all lanes", "[unit]") {
  CHECK(LadderEpsilon(0.4, 7, 0, 8) == Approx(0.4));
  CHECK(LadderEpsilon(0.4, 7, 7, 8) == Approx(std::pow(0.4, 8)));
  for (int64_t lane = 1; lane < 8; ++lane) {
    CHECK(LadderEpsilon(0.4, 7, lane, 8) == Approx(std::pow(0.4, 1 + lane)));
  }
}

TEST_CASE("the only lane of a run has the base", "[unit]") {
  CHECK(LadderEpsilon(0.4, 7, 0, 1) == Approx(0.4));
}

TEST_CASE("a lane beyond those that were counted has the last lane's epsilon", "[unit]") {
  CHECK(LadderEpsilon(0.4, 7, 12, 8) == LadderEpsilon(0.4, 7, 7, 8));
}

}  // namespace
}  // namespace waggle
