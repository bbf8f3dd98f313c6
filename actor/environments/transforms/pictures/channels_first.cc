#include "actor/environments/transforms/pictures/channels_first.h"

#include <cstring>
#include <utility>

#include "actor/environments/transforms/pictures/picture_layout.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

template <size_t kElementBytes>
void Transpose(const PictureLayout& picture, size_t rows, const char* from, char* to) {
  for (size_t row = 0; row < rows; ++row) {
    for (int64_t channel = 0; channel < picture.channels; ++channel) {
      for (int64_t pixel = 0; pixel < picture.pixels(); ++pixel, to += kElementBytes) {
        const int64_t element = channel * picture.channel_stride + pixel * picture.pixel_stride;
        std::memcpy(to, from + static_cast<size_t>(element) * kElementBytes, kElementBytes);
      }
    }
    from += static_cast<size_t>(picture.channels * picture.pixels()) * kElementBytes;
  }
}

}  // namespace

absl::Status ChannelsFirst::Change(const Settings& settings, TransformedSpec* spec) {
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<size_t> leaves,
                          ChosenLeaves(
                              *spec, settings.observation,
                              [](const SpaceLeaf& leaf) {
                                const std::optional<PictureLayout> picture = PictureLayoutOf(leaf.array.shape);
                                return leaf.kind == SpaceKind::kBox && leaf.array.shape.size() == 3 &&
                                       picture->pixel_stride == picture->channels;
                              },
                              "a box [height, width, channels] of 1, 3 or 4 channels"));
  for (const size_t leaf : leaves) {
    SpaceLeaf& changed = spec->spec.observations[leaf];
    const PictureLayout picture = *PictureLayoutOf(changed.array.shape);
    changed.array.shape = {picture.channels, picture.height, picture.width};
    WidenBounds(&changed);
  }
  return absl::OkStatus();
}

ChannelsFirst::ChannelsFirst(const Settings& /*settings*/, TransformParts parts)
    : ObservationTransform(std::move(parts)) {}

absl::Status ChannelsFirst::Map(size_t leaf, const ReadyLanes& ready, const void* from, void* to) {
  const ArraySpec& array = inner().spec().observations[leaf].array;
  const PictureLayout picture = *PictureLayoutOf(array.shape);
  const auto* const pictures = static_cast<const char*>(from);
  auto* const transposed = static_cast<char*>(to);
  switch (DTypeSize(array.dtype)) {
    case 1:
      Transpose<1>(picture, ready.lanes.size(), pictures, transposed);
      break;
    case 2:
      Transpose<2>(picture, ready.lanes.size(), pictures, transposed);
      break;
    case 4:
      Transpose<4>(picture, ready.lanes.size(), pictures, transposed);
      break;
    default:
      Transpose<8>(picture, ready.lanes.size(), pictures, transposed);
      break;
  }
  return absl::OkStatus();
}

}  // namespace waggle
