#include "actor/environments/pictures/picture.h"

#include <limits>

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("A picture begins as paper, with 400 pixels along its longer side", "[unit]") {
  const Picture wide({-2, 2, 0, 1});
  CHECK(wide.width() == 400);
  CHECK(wide.height() == 100);
  CHECK(wide.rgb().size() == 400 * 100 * 3);
  CHECK(wide.PixelAt(0, 0) == kPaper);
  CHECK(wide.PixelAt(399, 99) == kPaper);
  const Picture high({0, 1, 0, 1000});
  CHECK(high.width() == 1);
  CHECK(high.height() == 400);
}

TEST_CASE("A rectangle fills the area between its corners, with y upwards and smooth edges", "[unit]") {
  Picture picture({0, 4, 0, 4});
  picture.FillRectangle({1, 2}, {2, 4}, kInk);
  CHECK(picture.PixelAt(100, 0) == kInk);
  CHECK(picture.PixelAt(199, 199) == kInk);
  CHECK(picture.PixelAt(99, 100) == kPaper);
  CHECK(picture.PixelAt(200, 100) == kPaper);
  CHECK(picture.PixelAt(150, 200) == kPaper);
  picture.FillRectangle({3.005, 0}, {4, 1}, {0, 0, 0});
  CHECK(picture.PixelAt(300, 350) == Color{125, 125, 123});
  CHECK(picture.PixelAt(301, 350) == Color{0, 0, 0});
}

TEST_CASE("A line has its thickness and round ends, and a line without a length is a disc", "[unit]") {
  Picture picture({0, 4, 0, 4});
  picture.DrawLine({1, 2}, {3, 2}, 0.2, kBlue);
  CHECK(picture.PixelAt(200, 200) == kBlue);
  CHECK(picture.PixelAt(200, 191) == kBlue);
  CHECK(picture.PixelAt(200, 188) == kPaper);
  CHECK(picture.PixelAt(92, 200) == kBlue);   // The end.
  CHECK(picture.PixelAt(92, 192) == kPaper);  // Its corner.
  picture.DrawDisc({2, 3}, 0.5, kOrange);
  CHECK(picture.PixelAt(200, 100) == kOrange);
  CHECK(picture.PixelAt(200, 52) == kOrange);
  CHECK(picture.PixelAt(170, 70) == kOrange);
  CHECK(picture.PixelAt(160, 60) == kPaper);
}

TEST_CASE("Drawings are clipped to the picture, and those with NaN are not drawn", "[unit]") {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  Picture picture({0, 1, 0, 1});
  picture.DrawDisc({-100, 1e300}, 1, kInk);
  picture.DrawLine({kNan, 0}, {1, 1}, 0.1, kInk);
  picture.DrawLine({-kInfinity, 0}, {kInfinity, 0}, 0.1, kInk);
  picture.FillRectangle({kNan, kNan}, {kNan, kNan}, kInk);
  CHECK(picture.rgb() == Picture({0, 1, 0, 1}).rgb());
  picture.FillRectangle({-kInfinity, -5}, {kInfinity, 5}, kInk);
  CHECK(picture.PixelAt(0, 0) == kInk);
  CHECK(picture.PixelAt(399, 399) == kInk);
}

}  // namespace
}  // namespace waggle
