#include <optional>

#include "tests/actor/transforms/scripted_environment.h"
#include "tests/actor/transforms/slow_lane.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

class StickyLane : public SlowLane {
 public:
  StickyLane(std::unique_ptr<SlowLane> inner, double probability, Rng rng)
      : inner_(std::move(inner)), probability_(probability), rng_(std::move(rng)) {}

  SlowRow Begin() override {
    taken_.reset();
    return shown_ = inner_->Begin();
  }

  SlowRow Step(const SlowAction& action) override {
    if (!(taken_.has_value() && rng_.Uniform() < probability_ && IsLegal(shown_, *taken_))) {
      taken_ = action;
    }
    return shown_ = inner_->Step(*taken_);
  }

 private:
  const std::unique_ptr<SlowLane> inner_;
  const double probability_;
  Rng rng_;
  SlowRow shown_;
  std::optional<SlowAction> taken_;
};

TEST_CASE("the previous action is repeated now and then, within an episode and a mask", "[unit]") {
  CompareWithSlowLanes(R"([{"sticky_actions": {"probability": 0.5}}])",
                       [](std::unique_ptr<SlowLane> inner, const Rng& rng) {
                         return std::make_unique<StickyLane>(std::move(inner), 0.5, rng);
                       });
}

}  // namespace
}  // namespace waggle::testing
