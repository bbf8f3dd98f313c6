#include "actor/environments/pictures/picture.h"

#include <algorithm>
#include <cmath>

namespace waggle {
namespace {

constexpr double kLongerSide = 400;

int64_t PixelsOf(double length) {
  return std::max<int64_t>(1, std::lround(length));
}

// The pixel that a coordinate lies in, moved into [0, pixels]; 0 for NaN.
int64_t PixelAtOrInside(double coordinate, int64_t pixels) {
  if (!(coordinate > 0)) {
    return 0;
  }
  return coordinate >= static_cast<double>(pixels) ? pixels : static_cast<int64_t>(coordinate);
}

// The length of [pixel, pixel + 1] within [from, to].
double Overlap(int64_t pixel, double from, double to) {
  const auto begin = static_cast<double>(pixel);
  return std::clamp(std::min(begin + 1, to) - std::max(begin, from), 0.0, 1.0);
}

uint8_t Mixed(uint8_t under, uint8_t over, double share) {
  return static_cast<uint8_t>(std::lround(under + (over - under) * share));
}

}  // namespace

Picture::Picture(const View& view, absl::Duration shown_for)
    : view_(view),
      scale_(kLongerSide / std::max(view.right - view.left, view.top - view.bottom)),
      width_(PixelsOf((view.right - view.left) * scale_)),
      height_(PixelsOf((view.top - view.bottom) * scale_)),
      shown_for_(shown_for) {
  rgb_.reserve(static_cast<size_t>(width_ * height_ * 3));
  for (int64_t i = 0; i < width_ * height_; ++i) {
    rgb_.insert(rgb_.end(), {kPaper.red, kPaper.green, kPaper.blue});
  }
}

Color Picture::PixelAt(int64_t x, int64_t y) const {
  const uint8_t* const pixel = &rgb_[static_cast<size_t>((y * width_ + x) * 3)];
  return {pixel[0], pixel[1], pixel[2]};
}

// A pixel's coverage grows from 0 if its centre is half a pixel outside the edge to 1 if it is half a pixel inside.
void Picture::DrawLine(const PlanePoint& from, const PlanePoint& to, double thickness, Color color) {
  const double x = Column(from.x);
  const double y = Row(from.y);
  const double along_x = Column(to.x) - x;
  const double along_y = Row(to.y) - y;
  const double squared_length = along_x * along_x + along_y * along_y;
  const double radius = thickness / 2 * scale_;
  const double reach = radius + 1;
  const int64_t right = PixelAtOrInside(x + std::max(along_x, 0.0) + reach + 1, width_);
  const int64_t bottom = PixelAtOrInside(y + std::max(along_y, 0.0) + reach + 1, height_);
  for (int64_t row = PixelAtOrInside(y + std::min(along_y, 0.0) - reach, height_); row < bottom; ++row) {
    for (int64_t column = PixelAtOrInside(x + std::min(along_x, 0.0) - reach, width_); column < right; ++column) {
      const double dx = static_cast<double>(column) + 0.5 - x;
      const double dy = static_cast<double>(row) + 0.5 - y;
      const double nearest =
          squared_length > 0 ? std::clamp((dx * along_x + dy * along_y) / squared_length, 0.0, 1.0) : 0.0;
      const double distance = std::hypot(dx - nearest * along_x, dy - nearest * along_y);
      Blend(column, row, std::clamp(radius - distance + 0.5, 0.0, 1.0), color);
    }
  }
}

void Picture::FillRectangle(const PlanePoint& bottom_left, const PlanePoint& top_right, Color color) {
  const double left = Column(bottom_left.x);
  const double right = Column(top_right.x);
  const double top = Row(top_right.y);
  const double bottom = Row(bottom_left.y);
  const int64_t end_row = PixelAtOrInside(bottom + 1, height_);
  const int64_t end_column = PixelAtOrInside(right + 1, width_);
  for (int64_t row = PixelAtOrInside(top, height_); row < end_row; ++row) {
    for (int64_t column = PixelAtOrInside(left, width_); column < end_column; ++column) {
      Blend(column, row, Overlap(column, left, right) * Overlap(row, top, bottom), color);
    }
  }
}

void Picture::Blend(int64_t column, int64_t row, double share, Color color) {
  if (!(share > 0)) {
    return;
  }
  uint8_t* const pixel = &rgb_[static_cast<size_t>((row * width_ + column) * 3)];
  pixel[0] = Mixed(pixel[0], color.red, share);
  pixel[1] = Mixed(pixel[1], color.green, share);
  pixel[2] = Mixed(pixel[2], color.blue, share);
}

}  // namespace waggle
