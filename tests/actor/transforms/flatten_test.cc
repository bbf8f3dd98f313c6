#include "tests/actor/transforms/scripted_environment.h"
#include "tests/actor/transforms/slow_lane.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

TEST_CASE("flattened observations keep their elements and their order", "[unit]") {
  CompareWithSlowLanes(R"(["flatten"])", [](std::unique_ptr<SlowLane> inner, const Rng&) { return inner; });
}

}  // namespace
}  // namespace waggle::testing
