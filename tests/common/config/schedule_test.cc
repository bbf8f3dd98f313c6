#include "common/config/schedule.h"

#include <cmath>
#include <vector>

#include "common/base/random.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

Schedule Moving(Schedule::Shape shape, double from, double to) {
  Schedule schedule = Schedule::Linear(from, to, Schedule::Clock::kLearnerSteps, 300);
  schedule.shape = shape;
  schedule.start = 100;
  return schedule;
}

double AtStep(const Schedule& schedule, int64_t learner_steps) {
  return schedule.At({0.9, learner_steps, 7});
}

TEST_CASE("a number is a schedule that stands still", "[unit]") {
  const Schedule schedule = 0.25;
  CHECK_FALSE(schedule.moves());
  CHECK(AtStep(schedule, 0) == 0.25);
  CHECK(AtStep(schedule, 1'000'000) == 0.25);
}

TEST_CASE("a schedule goes from one end to the other as its shape says", "[unit]") {
  using Shape = Schedule::Shape;
  for (const Shape shape : {Shape::kLinear, Shape::kStep, Shape::kExponential, Shape::kCosine}) {
    const Schedule schedule = Moving(shape, 8, 2);
    CHECK(AtStep(schedule, 0) == 8);
    CHECK(AtStep(schedule, 100) == 8);
    CHECK(AtStep(schedule, 300) == 2);
    CHECK(AtStep(schedule, 1'000) == 2);
  }
  CHECK(AtStep(Moving(Shape::kLinear, 8, 2), 150) == Approx(6.5));
  CHECK(AtStep(Moving(Shape::kStep, 8, 2), 299) == 8);
  CHECK(AtStep(Moving(Shape::kExponential, 8, 2), 200) == Approx(4));
  CHECK(AtStep(Moving(Shape::kExponential, -8, -2), 200) == Approx(-4));
  CHECK(AtStep(Moving(Shape::kCosine, 8, 2), 200) == Approx(5));
  CHECK(AtStep(Moving(Shape::kCosine, 8, 2), 150) == Approx(2 + 3 * (1 + std::sqrt(0.5))));
}

// The value by a walk over all segments.
double Slowly(const std::vector<Schedule::Point>& points, double position) {
  double value = points[0].value;
  for (size_t i = 1; i < points.size(); ++i) {
    const double share = std::fmin(1, std::fmax(0, (position - points[i - 1].at) / (points[i].at - points[i - 1].at)));
    value += share * (points[i].value - points[i - 1].value);
  }
  return value;
}

TEST_CASE("a schedule by points is linear between them and constant outside", "[unit]") {
  Rng rng(5);
  for (const size_t count : {size_t{2}, size_t{3}, size_t{17}, Schedule::kMaxPoints}) {
    std::vector<Schedule::Point> points;
    double at = 0;
    for (size_t i = 0; i < count; ++i) {
      at += static_cast<double>(1 + rng.UniformInt(40));
      points.push_back({at, 4 * rng.Uniform() - 2});
    }
    const Schedule schedule = Schedule::Through(points, Schedule::Clock::kLearnerSteps);
    REQUIRE_OK(ValidateSchedule(schedule));
    CHECK(schedule.moves());
    for (int64_t step = 0; step < static_cast<int64_t>(at) + 50; ++step) {
      CHECK(AtStep(schedule, step) == Approx(Slowly(points, static_cast<double>(step))).margin(1e-12));
    }
    for (const Schedule::Point& point : points) {
      CHECK(AtStep(schedule, static_cast<int64_t>(point.at)) == point.value);
    }
  }
  CHECK(Schedule::Through({{0, 1}, {1, 3}}, Schedule::Clock::kRun).At({0.25, 10, 40}) == Approx(1.5));
  CHECK(Schedule::Through({{0, 1}, {80, 3}}, Schedule::Clock::kEnvSteps).At({0.25, 10, 40}) == Approx(2));
}

TEST_CASE("points that are not in order, too few or too many are refused", "[unit]") {
  const auto refusal = [](const std::vector<Schedule::Point>& points, Schedule::Clock of) {
    return std::string(ValidateSchedule(Schedule::Through(points, of)).message());
  };
  using Clock = Schedule::Clock;
  CHECK(refusal({{0, 1}, {5, 2}, {5, 3}}, Clock::kEnvSteps) ==
        "points[2]: got the position 5 after 5; wanted a larger one");
  CHECK(refusal({{3, 1}}, Clock::kEnvSteps) == "points: got 1; wanted 2 to 64");
  std::vector<Schedule::Point> many;
  for (int i = 0; i < 65; ++i) {
    many.push_back({static_cast<double>(i), 1});
  }
  CHECK(refusal(many, Clock::kEnvSteps) == "points: got 65; wanted 2 to 64");
  CHECK(refusal({{0, 1}, {2, 0}}, Clock::kRun).find("points: got the position 2; wanted shares") == 0);
}

TEST_CASE("a schedule's clock is the run, the learner's steps or the environments' steps", "[unit]") {
  using Clock = Schedule::Clock;
  const Progress progress{0.5, 10, 40};
  CHECK(Schedule::Linear(0, 1).At(progress) == Approx(0.5));
  CHECK(Schedule::Linear(0, 1, Clock::kLearnerSteps, 100).At(progress) == Approx(0.1));
  CHECK(Schedule::Linear(0, 1, Clock::kEnvSteps, 100).At(progress) == Approx(0.4));
}

TEST_CASE("a schedule that contradicts itself is refused", "[unit]") {
  CHECK(ValidateSchedule(Schedule::Linear(1, 0)).ok());
  CHECK(ValidateSchedule(Moving(Schedule::Shape::kExponential, 1, 0.1)).ok());
  Schedule backwards = Schedule::Linear(1, 0);
  backwards.start = 1;
  CHECK(absl::IsInvalidArgument(ValidateSchedule(backwards)));
  CHECK(absl::IsInvalidArgument(ValidateSchedule(Schedule::Linear(1, 0, Schedule::Clock::kRun, 2))));
  CHECK(absl::IsInvalidArgument(ValidateSchedule(Moving(Schedule::Shape::kExponential, 1, 0))));
  CHECK(absl::IsInvalidArgument(ValidateSchedule(Moving(Schedule::Shape::kExponential, 1, -1))));
}

}  // namespace
}  // namespace waggle
