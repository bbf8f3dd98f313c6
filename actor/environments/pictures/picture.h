#pragma once

#include <cstdint>
#include <vector>

#include "absl/time/time.h"

namespace waggle {

struct Color {
  uint8_t red = 0;
  uint8_t green = 0;
  uint8_t blue = 0;

  friend bool operator==(const Color& a, const Color& b) {
    return a.red == b.red && a.green == b.green && a.blue == b.blue;
  }
};

// The colors of drawings.
inline constexpr Color kPaper = {250, 249, 245};
inline constexpr Color kInk = {45, 45, 55};
inline constexpr Color kSoft = {200, 200, 205};
inline constexpr Color kBlue = {50, 105, 180};
inline constexpr Color kOrange = {220, 130, 40};
inline constexpr Color kGreen = {70, 160, 90};

// A place on the plane that a picture shows; y grows upwards.
struct PlanePoint {
  double x = 0;
  double y = 0;
};

// A part of a plane as pixels. Drawings are clipped to it, and edges are smooth. Not thread-safe.
class Picture {
 public:
  // The part of the plane, which must not be empty.
  struct View {
    double left = 0;
    double right = 1;
    double bottom = 0;
    double top = 1;
  };

  // Blank paper. The longer side has 400 pixels, the other side its share, but at least 1. `shown_for`: the picture's
  // time in an animation.
  explicit Picture(const View& view, absl::Duration shown_for = absl::Milliseconds(33));

  int64_t width() const { return width_; }
  int64_t height() const { return height_; }
  absl::Duration shown_for() const { return shown_for_; }
  // [height, width, 3], from the top left: red, green and blue.
  const std::vector<uint8_t>& rgb() const { return rgb_; }
  // `x` in [0, width), `y` in [0, height), from the top.
  Color PixelAt(int64_t x, int64_t y) const;

  // A line with round ends. Lengths are the plane's.
  void DrawLine(const PlanePoint& from, const PlanePoint& to, double thickness, Color color);
  void DrawDisc(const PlanePoint& center, double radius, Color color) { DrawLine(center, center, 2 * radius, color); }
  // The rectangle between two opposite corners.
  void FillRectangle(const PlanePoint& bottom_left, const PlanePoint& top_right, Color color);

 private:
  // Coordinates in pixels, from the left and from the top.
  double Column(double x) const { return (x - view_.left) * scale_; }
  double Row(double y) const { return (view_.top - y) * scale_; }
  // Blends a share of a color, in [0, 1], over a pixel.
  void Blend(int64_t column, int64_t row, double share, Color color);

  const View view_;
  const double scale_;  // Pixels for each unit of the plane.
  const int64_t width_;
  const int64_t height_;
  const absl::Duration shown_for_;
  std::vector<uint8_t> rgb_;
};

}  // namespace waggle
