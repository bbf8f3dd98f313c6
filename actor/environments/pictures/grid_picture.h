#pragma once

#include <cstdint>

#include "actor/environments/pictures/picture.h"

namespace waggle {

// A picture of cells, rows counted from the top. Each is a square with sides of 1 and a rim of paper.
class GridPicture {
 public:
  // At least one row and one column, of empty cells.
  GridPicture(int64_t rows, int64_t columns);

  void FillCell(int64_t row, int64_t column, Color color);
  // A disc in the cell's middle, over its fill.
  void DrawDot(int64_t row, int64_t column, Color color, double radius = 0.3);

  const Picture& picture() const { return picture_; }

 private:
  Picture picture_;
};

}  // namespace waggle
