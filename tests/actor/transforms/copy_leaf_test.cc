#include "tests/actor/transforms/scripted_environment.h"
#include "tests/actor/transforms/slow_lane.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

TEST_CASE("a copy does not change when the original is transformed", "[unit]") {
  CompareWithSlowLanes(
      R"([{"copy": {"observation": "observation/speed", "as": "raw/speed"}},
          {"frame_stack": {"frames": 2, "observation": "observation/speed"}}, "flatten"])",
      [](std::unique_ptr<SlowLane> inner, const Rng&) {
        auto before = std::make_shared<std::string>();
        return MapRows(std::move(inner), [before](SlowRow* row) {
          const std::string speed = row->observations[kSpeed];
          row->observations[kSpeed] = (row->step_type == StepType::kFirst ? speed : *before) + speed;
          row->observations.push_back(speed);
          *before = speed;
        });
      });
}

}  // namespace
}  // namespace waggle::testing
