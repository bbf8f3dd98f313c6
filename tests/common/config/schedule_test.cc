#include "common/config/schedule.h"

#include <cmath>

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
