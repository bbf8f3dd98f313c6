#include "common/config/schedule.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/base/problems.h"

namespace waggle {
namespace {

double Position(const Progress& progress, Schedule::Clock clock) {
  switch (clock) {
    case Schedule::Clock::kRun:
      return progress.run;
    case Schedule::Clock::kLearnerSteps:
      return static_cast<double>(progress.learner_steps);
    case Schedule::Clock::kEnvSteps:
      return static_cast<double>(progress.env_steps);
  }
  return 0;
}

double Between(const std::vector<Schedule::Point>& points, double position) {
  const auto after = std::upper_bound(points.begin(), points.end(), position,
                                      [](double at, const Schedule::Point& point) { return at < point.at; });
  if (after == points.begin() || after == points.end()) {
    return after == points.begin() ? points.front().value : points.back().value;
  }
  const Schedule::Point& before = *(after - 1);
  return before.value + (after->value - before.value) * ((position - before.at) / (after->at - before.at));
}

absl::Status ValidatePoints(const Schedule& schedule) {
  const std::vector<Schedule::Point>& points = schedule.points;
  Problems problems;
  problems.AddUnless(points.size() >= 2 && points.size() <= Schedule::kMaxPoints, "points: got ", points.size(),
                     "; wanted 2 to ", Schedule::kMaxPoints);
  for (size_t i = 1; i < points.size(); ++i) {
    problems.AddUnless(points[i - 1].at < points[i].at, "points[", i, "]: got the position ", points[i].at, " after ",
                       points[i - 1].at, "; wanted a larger one");
  }
  problems.AddUnless(schedule.of != Schedule::Clock::kRun || points.back().at <= 1, "points: got the position ",
                     points.back().at,
                     "; wanted shares of the whole run, at most 1, or of: learner_steps or env_steps");
  return problems.ToStatus();
}

}  // namespace

Schedule Schedule::Linear(double from, double to, Clock of, double until) {
  Schedule schedule(from);
  schedule.shape = Shape::kLinear;
  schedule.to = to;
  schedule.of = of;
  schedule.until = until;
  return schedule;
}

Schedule Schedule::Through(std::vector<Point> points, Clock of) {
  Schedule schedule;
  schedule.of = of;
  schedule.points = std::move(points);
  return schedule;
}

double Schedule::At(const Progress& progress) const {
  if (!points.empty()) {
    return Between(points, Position(progress, of));
  }
  if (shape == Shape::kConstant) {
    return from;
  }
  const double position = Position(progress, of);
  if (position >= until) {
    return to;
  }
  if (position <= start || shape == Shape::kStep) {
    return from;
  }
  const double share = (position - start) / (until - start);
  switch (shape) {
    case Shape::kExponential:
      return from * std::pow(to / from, share);
    case Shape::kCosine:
      return to + (from - to) * 0.5 * (1 + std::cos(share * M_PI));
    default:
      return from + (to - from) * share;
  }
}

absl::Status ValidateSchedule(const Schedule& schedule) {
  if (!schedule.points.empty()) {
    return ValidatePoints(schedule);
  }
  Problems problems;
  problems.AddUnless(schedule.start < schedule.until, "start: ", schedule.start, " is not before until, ",
                     schedule.until);
  problems.AddUnless(schedule.of != Schedule::Clock::kRun || schedule.until <= 1, "until: ", schedule.until,
                     " is more than the whole run; wanted a share of it, at most 1, or of: learner_steps or env_steps");
  problems.AddUnless(schedule.shape != Schedule::Shape::kExponential || schedule.from * schedule.to > 0,
                     "shape: exponential goes from ", schedule.from, " to ", schedule.to,
                     "; wanted two positive ends or two negative ones");
  return problems.ToStatus();
}

}  // namespace waggle
