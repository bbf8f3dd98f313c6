#include <optional>

#include "tests/actor/environments/transforms/scripted_environment.h"
#include "tests/actor/environments/transforms/slow_lane.h"
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

// The bytes of numbers in an array.
template <class T, size_t size>
std::string BytesOf(const T (&numbers)[size]) {
  return std::string(reinterpret_cast<const char*>(numbers), sizeof(numbers));
}

TEST_CASE("a goal is drawn at the beginning of each episode, and stays until its end", "[unit]") {
  CompareWithSlowLanes(
      R"([{"random_goal": {"as": "skill", "choices": 5}}])", [](std::unique_ptr<SlowLane> inner, const Rng& rng) {
        return MapRows(std::move(inner), [draws = Rng(rng), goal = std::string()](SlowRow* row) mutable {
          if (row->step_type == StepType::kFirst) {
            goal = BytesOf({static_cast<int64_t>(draws.UniformInt(5))});
          }
          row->observations.push_back(goal);
        });
      });
  CompareWithSlowLanes(
      R"([{"random_goal": {"size": 2, "min": 1, "max": 3}}])", [](std::unique_ptr<SlowLane> inner, const Rng& rng) {
        return MapRows(std::move(inner), [draws = Rng(rng), goal = std::string()](SlowRow* row) mutable {
          if (row->step_type == StepType::kFirst) {
            const auto x = static_cast<float>(draws.Uniform(1, 3));
            goal = BytesOf({x, static_cast<float>(draws.Uniform(1, 3))});
          }
          row->observations.push_back(goal);
        });
      });
}

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
