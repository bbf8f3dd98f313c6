#include <deque>

#include "tests/actor/environments/transforms/scripted_environment.h"
#include "tests/actor/environments/transforms/slow_lane.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

std::unique_ptr<SlowLane> Stacked(std::unique_ptr<SlowLane> inner, size_t frames, const std::vector<size_t>& leaves) {
  auto histories = std::make_shared<std::vector<std::deque<std::string>>>(kNumScriptedLeaves);
  return MapRows(std::move(inner), [histories, frames, leaves](SlowRow* row) {
    for (const size_t leaf : leaves) {
      std::deque<std::string>& history = (*histories)[leaf];
      if (row->step_type == StepType::kFirst) {
        history.assign(frames, row->observations[leaf]);
      } else {
        history.pop_front();
        history.push_back(row->observations[leaf]);
      }
      row->observations[leaf].clear();
      for (const std::string& frame : history) {
        row->observations[leaf] += frame;
      }
    }
  });
}

TEST_CASE(
    "stacked frames are the newest, the oldest first, and an episode's first frame is repeated for those before it",
    "[unit]") {
  CompareWithSlowLanes(R"(["frame_stack"])", [](std::unique_ptr<SlowLane> inner, const Rng&) {
    return Stacked(std::move(inner), 4, {kCamera, kPlane, kSpeed, kFlags, kLevel});
  });
}

TEST_CASE("only the named observation is stacked", "[unit]") {
  CompareWithSlowLanes(
      R"([{"frame_stack": {"frames": 3, "observation": "observation/speed"}}])",
      [](std::unique_ptr<SlowLane> inner, const Rng&) { return Stacked(std::move(inner), 3, {kSpeed}); });
}

}  // namespace
}  // namespace waggle::testing
