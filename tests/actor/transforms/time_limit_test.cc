#include "tests/actor/transforms/scripted_environment.h"
#include "tests/actor/transforms/slow_lane.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

class LimitedLane : public SlowLane {
 public:
  LimitedLane(std::unique_ptr<SlowLane> inner, int steps) : inner_(std::move(inner)), steps_(steps) {}

  SlowRow Begin() override {
    taken_ = 0;
    return inner_->Begin();
  }
  SlowRow Step(const SlowAction& action) override {
    SlowRow row = inner_->Step(action);
    if (++taken_ == steps_) {
      row.step_type = StepType::kLast;
    }
    return row;
  }

 private:
  const std::unique_ptr<SlowLane> inner_;
  const int steps_;
  int taken_ = 0;
};

TEST_CASE("an episode is truncated by a time limit, with its reward and discount", "[unit]") {
  CompareWithSlowLanes(R"([{"time_limit": {"steps": 4}}])", [](std::unique_ptr<SlowLane> inner, const Rng&) {
    return std::make_unique<LimitedLane>(std::move(inner), 4);
  });
}

TEST_CASE("a time limit counts the steps of the transforms before it, and its ends reach the transforms after it",
          "[unit]") {
  // The outer limit is never reached, and must keep the inner limit's ends.
  CompareWithSlowLanes(
      R"([{"time_limit": {"steps": 3}}, {"action_repeat": {"steps": 1}}, {"time_limit": {"steps": 5}}])",
      [](std::unique_ptr<SlowLane> inner, const Rng&) { return std::make_unique<LimitedLane>(std::move(inner), 3); });
}

}  // namespace
}  // namespace waggle::testing
