#include <algorithm>

#include "tests/actor/transforms/scripted_environment.h"
#include "tests/actor/transforms/slow_lane.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

TEST_CASE("rewards are shifted, then scaled, then clipped, and an episode's first row has zeros", "[unit]") {
  CompareWithSlowLanes(R"([{"reward": {"shift": 1, "scale": 0.5, "clip": {"max": 1.25}}}])",
                       [](std::unique_ptr<SlowLane> inner, const Rng&) {
                         return MapRows(std::move(inner), [](SlowRow* row) {
                           for (float& reward : row->rewards) {
                             reward = row->step_type == StepType::kFirst ? 0 : std::min((reward + 1) * 0.5F, 1.25F);
                           }
                         });
                       });
}

}  // namespace
}  // namespace waggle::testing
