#include <algorithm>
#include <cstring>

#include "tests/actor/environments/transforms/scripted_environment.h"
#include "tests/actor/environments/transforms/slow_lane.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

void TakeGreater(const std::string& frame, bool floats, std::string* greatest) {
  for (size_t i = 0; i < frame.size(); i += floats ? sizeof(float) : 1) {
    float a = static_cast<uint8_t>(frame[i]);
    float b = static_cast<uint8_t>((*greatest)[i]);
    if (floats) {
      std::memcpy(&a, &frame[i], sizeof(a));
      std::memcpy(&b, &(*greatest)[i], sizeof(b));
    }
    if (a > b) {
      greatest->replace(i, floats ? sizeof(float) : 1, frame, i, floats ? sizeof(float) : 1);
    }
  }
}

class RepeatedLane : public SlowLane {
 public:
  RepeatedLane(std::unique_ptr<SlowLane> inner, size_t steps, size_t pooled)
      : inner_(std::move(inner)), steps_(steps), pooled_(pooled) {}

  SlowRow Begin() override { return inner_->Begin(); }

  SlowRow Step(const SlowAction& action) override {
    SlowRow sum;
    sum.rewards = {0, 0};
    sum.discount = 1;
    std::vector<SlowRow> rows;
    do {
      rows.push_back(inner_->Step(action));
      sum.discount *= rows.back().discount;
      sum.raw_reward += rows.back().raw_reward;
      sum.rewards[0] += rows.back().rewards[0];
      sum.rewards[1] += rows.back().rewards[1];
    } while (rows.size() < steps_ && rows.back().step_type == StepType::kMid && IsLegal(rows.back(), action));
    sum.observations = rows.back().observations;
    sum.step_type = rows.back().step_type;
    for (size_t i = steps_ - pooled_; i < rows.size(); ++i) {
      TakeGreater(rows[i].observations[kCamera], /*floats=*/false, &sum.observations[kCamera]);
      TakeGreater(rows[i].observations[kPlane], /*floats=*/true, &sum.observations[kPlane]);
    }
    return sum;
  }

 private:
  const std::unique_ptr<SlowLane> inner_;
  const size_t steps_;
  const size_t pooled_;
};

TEST_CASE("a repeated action has the sum of rewards, and ends at an episode's end or if a mask forbids it", "[unit]") {
  CompareWithSlowLanes(R"(["action_repeat"])", [](std::unique_ptr<SlowLane> inner, const Rng&) {
    return std::make_unique<RepeatedLane>(std::move(inner), 4, 1);
  });
}

TEST_CASE("pictures are the maximum over the last steps of a repeat, as far as they were taken", "[unit]") {
  CompareWithSlowLanes(R"([{"action_repeat": {"steps": 3, "max_pool": 2}}])",
                       [](std::unique_ptr<SlowLane> inner, const Rng&) {
                         return std::make_unique<RepeatedLane>(std::move(inner), 3, 2);
                       });
}

TEST_CASE("raw rewards are summed too if an earlier transform changes rewards", "[unit]") {
  CompareWithSlowLanes(R"([{"reward": {"clip": {"min": -1, "max": 1}}}, {"action_repeat": {"steps": 2}}])",
                       [](std::unique_ptr<SlowLane> inner, const Rng&) {
                         return std::make_unique<RepeatedLane>(MapRows(std::move(inner),
                                                                       [](SlowRow* row) {
                                                                         for (float& reward : row->rewards) {
                                                                           reward = std::clamp(reward, -1.0F, 1.0F);
                                                                         }
                                                                       }),
                                                               2, 1);
                       });
}

}  // namespace
}  // namespace waggle::testing
