#include "tests/actor/transforms/scripted_environment.h"
#include "tests/actor/transforms/slow_lane.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

class NoOpLane : public SlowLane {
 public:
  NoOpLane(std::unique_ptr<SlowLane> inner, uint64_t max, Rng rng)
      : inner_(std::move(inner)), max_(max), rng_(std::move(rng)) {}

  SlowRow Begin() override {
    const SlowAction no_op = {std::string(8, '\0'), std::string(2, '\0')};
    SlowRow row = inner_->Begin();
    for (uint64_t left = 1 + rng_.UniformInt(max_); left > 0 && IsLegal(row, no_op); --left) {
      row = inner_->Step(no_op);
      if (row.step_type == StepType::kLast) {
        row = inner_->Begin();
      }
    }
    row.step_type = StepType::kFirst;
    row.rewards = {0, 0};
    row.raw_reward = 0;
    row.discount = 0;
    return row;
  }
  SlowRow Step(const SlowAction& action) override { return inner_->Step(action); }

 private:
  const std::unique_ptr<SlowLane> inner_;
  const uint64_t max_;
  Rng rng_;
};

TEST_CASE("an episode begins after a random number of no-op steps, even if episodes end during them", "[unit]") {
  CompareWithSlowLanes(R"([{"no_op_start": {"max": 12}}])", [](std::unique_ptr<SlowLane> inner, const Rng& rng) {
    return std::make_unique<NoOpLane>(std::move(inner), 12, rng);
  });
}

}  // namespace
}  // namespace waggle::testing
