#include "actor/environments/pictures/grid_picture.h"

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("Cells are counted from the top left, and dots are in their middle", "[unit]") {
  GridPicture grid(2, 4);
  CHECK(grid.picture().width() == 400);
  CHECK(grid.picture().height() == 200);
  const Color empty = grid.picture().PixelAt(50, 50);
  CHECK_FALSE(empty == kPaper);
  CHECK(grid.picture().PixelAt(100, 50) == kPaper);  // A rim.
  grid.FillCell(1, 2, kInk);
  CHECK(grid.picture().PixelAt(250, 150) == kInk);
  CHECK(grid.picture().PixelAt(250, 50) == empty);
  CHECK(grid.picture().PixelAt(150, 150) == empty);
  grid.DrawDot(1, 2, kGreen, 0.2);
  CHECK(grid.picture().PixelAt(250, 150) == kGreen);
  CHECK(grid.picture().PixelAt(250, 175) == kInk);
}

}  // namespace
}  // namespace waggle
