#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace waggle {

// How far a run has come, as the process that computes with it knows: a learner from its own steps and the hub's last
// assignment, an actor from the weights that it acts with. A value, which travels and is in checkpoints.
struct Progress {
  double run = 0;  // Share of the nearest stop limit (steps or time), from 0 to 1; 0 if the run has none.
  int64_t learner_steps = 0;
  int64_t env_steps = 0;  // Over all actors.
};

// A number that is constant or moves with the run. In a file either `clip: 0.2` or
//
//   clip: {from: 0.2, to: 0.05, shape: linear, of: run, start: 0, until: 0.8}
//
// The value is `from` up to `start` on its clock, `to` from `until` on, and in between as its shape says. Or
//
//   clip: {points: [[0, 0.2], [100000, 0.1], [200000, 0.05]], of: env_steps}
//
// for straight lines between points of the clock and the value, which is constant before the first and after the last.
// A pure function of the progress, so that it is the same in every process and after every restart.
struct Schedule {
  enum class Shape {
    kConstant,     // Always `from`.
    kLinear,       // A straight line.
    kStep,         // `from` until `until`, then `to`.
    kExponential,  // A straight line in the logarithm: both ends are positive, or both are negative.
    kCosine,       // Half a cosine: slow at both ends.
  };
  enum class Clock { kRun, kLearnerSteps, kEnvSteps };
  struct Point {
    double at = 0;  // On the clock.
    double value = 0;

    friend bool operator==(const Point& a, const Point& b) { return a.at == b.at && a.value == b.value; }
  };
  static constexpr size_t kMaxPoints = 64;

  Schedule() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): a number is a schedule.
  Schedule(double value) : from(value), to(value) {}
  // Moves over the whole run unless the clock and its end say something else.
  static Schedule Linear(double from, double to, Clock of = Clock::kRun, double until = 1);
  static Schedule Through(std::vector<Point> points, Clock of);

  double At(const Progress& progress) const;
  bool moves() const { return shape != Shape::kConstant || !points.empty(); }

  Shape shape = Shape::kConstant;
  double from = 0;
  double to = 0;
  Clock of = Clock::kRun;
  double start = 0;
  double until = 1;  // On the clock; for kRun a share of the run, at most 1.
  // In the clock's order. If there are any, only these and the clock count.
  std::vector<Point> points;

  friend bool operator==(const Schedule& a, const Schedule& b) {
    return a.shape == b.shape && a.from == b.from && a.to == b.to && a.of == b.of && a.start == b.start &&
           a.until == b.until && a.points == b.points;
  }
};

// INVALID_ARGUMENT, one problem a line, each behind its key, if a schedule's fields contradict each other. The visitor
// checks the range of its ends.
absl::Status ValidateSchedule(const Schedule& schedule);

}  // namespace waggle
