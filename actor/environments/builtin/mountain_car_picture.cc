#include "actor/environments/builtin/mountain_car_picture.h"

#include <cmath>

namespace waggle {
namespace {

constexpr double kLeft = -1.2;
constexpr double kRight = 0.6;
constexpr double kSteps = 60;

// A point of the slope, or `above` it.
PlanePoint OnSlope(double x, double above = 0) {
  return {x, 0.45 * std::sin(3 * x) + above};
}

}  // namespace

Picture DrawMountainCar(double position, double goal) {
  Picture picture({kLeft, kRight, -0.55, 0.75});
  for (double step = 0; step < kSteps; ++step) {
    const auto at = [step](double steps) { return kLeft + (kRight - kLeft) * (step + steps) / kSteps; };
    picture.DrawLine(OnSlope(at(0)), OnSlope(at(1)), 0.01, kInk);
  }
  picture.DrawLine(OnSlope(goal), OnSlope(goal, 0.2), 0.01, kInk);
  picture.FillRectangle(OnSlope(goal, 0.14), {goal + 0.08, OnSlope(goal).y + 0.2}, kGreen);
  // The angle across the slope.
  const double angle = std::atan(1.35 * std::cos(3 * position));
  const PlanePoint along = {0.05 * std::cos(angle), 0.05 * std::sin(angle)};
  const PlanePoint center = {position - std::sin(angle) * 0.05, OnSlope(position).y + std::cos(angle) * 0.05};
  picture.DrawLine({center.x - along.x, center.y - along.y}, {center.x + along.x, center.y + along.y}, 0.05, kBlue);
  for (const double side : {-1.0, 1.0}) {
    picture.DrawDisc({position + side * along.x - std::sin(angle) * 0.02,
                      OnSlope(position).y + side * along.y + std::cos(angle) * 0.02},
                     0.02, kInk);
  }
  return picture;
}

}  // namespace waggle
