#include "cli/play/terminal_picture.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace waggle {
namespace {

// The mean over the pixels of [left, right) x [top, bottom), which must not be empty.
Color MeanOf(const Picture& picture, int64_t left, int64_t right, int64_t top, int64_t bottom) {
  int64_t red = 0;
  int64_t green = 0;
  int64_t blue = 0;
  for (int64_t y = top; y < bottom; ++y) {
    for (int64_t x = left; x < right; ++x) {
      const Color color = picture.PixelAt(x, y);
      red += color.red;
      green += color.green;
      blue += color.blue;
    }
  }
  const int64_t pixels = (right - left) * (bottom - top);
  return {static_cast<uint8_t>(red / pixels), static_cast<uint8_t>(green / pixels),
          static_cast<uint8_t>(blue / pixels)};
}

}  // namespace

std::string TerminalPicture(const Picture& picture, int64_t columns, int64_t lines) {
  // Each place shows a square of `side` x `side` pixels.
  const int64_t side = std::max<int64_t>(
      {1, (picture.width() + columns - 1) / columns, (picture.height() + 2 * lines - 1) / (2 * lines)});
  std::string text;
  for (int64_t top = 0; top < picture.height(); top += 2 * side) {
    for (int64_t left = 0; left < picture.width(); left += side) {
      const int64_t right = std::min(left + side, picture.width());
      const int64_t middle = std::min(top + side, picture.height());
      const int64_t bottom = std::min(middle + side, picture.height());
      const Color above = MeanOf(picture, left, right, top, middle);
      const Color below = bottom > middle ? MeanOf(picture, left, right, middle, bottom) : kPaper;
      absl::StrAppend(&text, "\x1b[38;2;", above.red, ";", above.green, ";", above.blue, "m\x1b[48;2;", below.red, ";",
                      below.green, ";", below.blue, "m\u2580");
    }
    text += "\x1b[0m\n";
  }
  return text;
}

}  // namespace waggle
