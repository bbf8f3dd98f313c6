#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/config/spec/space_leaf.h"

namespace waggle {

// The layout of a picture's elements in a row of an observation leaf.
struct PictureLayout {
  int64_t channels = 1;
  int64_t height = 0;
  int64_t width = 0;
  // Strides, in elements.
  int64_t channel_stride = 0;
  int64_t pixel_stride = 0;

  int64_t pixels() const { return height * width; }
};

// The layout of a leaf of this shape: [height, width]; [height, width, channels] if the last dimension is 1, 3 or 4 and
// the first is not; else [channels, height, width]. Absent for any other rank.
std::optional<PictureLayout> PictureLayoutOf(const std::vector<int64_t>& shape);

// True if the leaf is a box of pictures of bytes.
bool ShowsBytes(const SpaceLeaf& leaf);

}  // namespace waggle
