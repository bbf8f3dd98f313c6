#include "actor/environments/transforms/pictures/picture_layout.h"

namespace waggle {
namespace {

bool MayBeChannels(int64_t size) {
  return size == 1 || size == 3 || size == 4;
}

}  // namespace

std::optional<PictureLayout> PictureLayoutOf(const std::vector<int64_t>& shape) {
  if (shape.size() == 2) {
    return PictureLayout{1, shape[0], shape[1], shape[0] * shape[1], 1};
  }
  if (shape.size() != 3) {
    return std::nullopt;
  }
  if (MayBeChannels(shape[2]) && !MayBeChannels(shape[0])) {
    return PictureLayout{shape[2], shape[0], shape[1], 1, shape[2]};
  }
  return PictureLayout{shape[0], shape[1], shape[2], shape[1] * shape[2], 1};
}

bool ShowsBytes(const SpaceLeaf& leaf) {
  return leaf.kind == SpaceKind::kBox && leaf.array.dtype == DType::kUint8 &&
         PictureLayoutOf(leaf.array.shape).has_value();
}

}  // namespace waggle
