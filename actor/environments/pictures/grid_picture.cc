#include "actor/environments/pictures/grid_picture.h"

namespace waggle {
namespace {

// Jumps from cell to cell are shown longer than smooth motion.
constexpr absl::Duration kShownFor = absl::Milliseconds(200);
constexpr double kRim = 0.04;
constexpr Color kEmpty = {232, 232, 232};

}  // namespace

GridPicture::GridPicture(int64_t rows, int64_t columns)
    : picture_({0, static_cast<double>(columns), -static_cast<double>(rows), 0}, kShownFor) {
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      FillCell(row, column, kEmpty);
    }
  }
}

void GridPicture::FillCell(int64_t row, int64_t column, Color color) {
  const auto x = static_cast<double>(column);
  const auto y = -static_cast<double>(row);
  picture_.FillRectangle({x + kRim, y - 1 + kRim}, {x + 1 - kRim, y - kRim}, color);
}

void GridPicture::DrawDot(int64_t row, int64_t column, Color color, double radius) {
  picture_.DrawDisc({static_cast<double>(column) + 0.5, -static_cast<double>(row) - 0.5}, radius, color);
}

}  // namespace waggle
