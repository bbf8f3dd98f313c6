#include "actor/environments/builtin/mountain_car_picture.h"

#include <cstdint>
#include <cstdlib>

#include "tests/support/catch.h"

namespace waggle {
namespace {

int64_t PixelsOf(const Picture& picture, Color color) {
  int64_t pixels = 0;
  for (int64_t y = 0; y < picture.height(); ++y) {
    for (int64_t x = 0; x < picture.width(); ++x) {
      pixels += picture.PixelAt(x, y) == color ? 1 : 0;
    }
  }
  return pixels;
}

TEST_CASE("The car is drawn at its position, and the flag at the goal", "[unit]") {
  const Picture picture = DrawMountainCar(-0.5, 0.5);
  CHECK(PixelsOf(picture, kBlue) > 50);
  CHECK(PixelsOf(picture, kGreen) > 50);
  const auto column = [&picture](double position) { return static_cast<int64_t>((position + 1.2) / 1.8 * 400); };
  int64_t blue_left = 0;
  for (int64_t y = 0; y < picture.height(); ++y) {
    for (int64_t x = 0; x < picture.width(); ++x) {
      if (picture.PixelAt(x, y) == kBlue) {
        REQUIRE(std::abs(x - column(-0.5)) < 25);
        blue_left += x < column(-0.5) ? 1 : -1;
      }
      if (picture.PixelAt(x, y) == kGreen) {
        REQUIRE(x >= column(0.5) - 1);
      }
    }
  }
  CHECK(std::abs(blue_left) < 60);
  CHECK(DrawMountainCar(0.2, 0.5).rgb() != picture.rgb());
}

}  // namespace
}  // namespace waggle
