#include "actor/environments/transforms/pictures/grayscale.h"

#include <utility>

#include "actor/environments/transforms/pictures/picture_layout.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

// In units of 1/65536; they add up to 65536.
constexpr uint32_t kRed = 19595;
constexpr uint32_t kGreen = 38470;
constexpr uint32_t kBlue = 7471;
constexpr uint32_t kHalf = 1U << 15;

uint8_t Luma(uint32_t red, uint32_t green, uint32_t blue) {
  return static_cast<uint8_t>((kRed * red + kGreen * green + kBlue * blue + kHalf) >> 16);
}

// A constant stride makes this several times as fast.
template <int64_t kPixelStride>
void WriteLuma(int64_t pixels, int64_t channel_stride, const uint8_t* picture, uint8_t* luma) {
  const uint8_t* const green = picture + channel_stride;
  const uint8_t* const blue = green + channel_stride;
  for (int64_t i = 0; i < pixels; ++i) {
    luma[i] = Luma(picture[i * kPixelStride], green[i * kPixelStride], blue[i * kPixelStride]);
  }
}

}  // namespace

absl::Status Grayscale::Change(const Settings& settings, TransformedSpec* spec) {
  WAGGLE_ASSIGN_OR_RETURN(
      const std::vector<size_t> leaves,
      ChosenLeaves(
          *spec, settings.observation,
          [](const SpaceLeaf& leaf) { return ShowsBytes(leaf) && PictureLayoutOf(leaf.array.shape)->channels == 3; },
          "a box of uint8[height, width, 3] or uint8[3, height, width]"));
  for (const size_t leaf : leaves) {
    SpaceLeaf& changed = spec->spec.observations[leaf];
    const PictureLayout picture = *PictureLayoutOf(changed.array.shape);
    changed.array.shape = {1, picture.height, picture.width};
    WidenBounds(&changed);
  }
  return absl::OkStatus();
}

Grayscale::Grayscale(const Settings& /*settings*/, TransformParts parts) : ObservationTransform(std::move(parts)) {}

absl::Status Grayscale::Map(size_t leaf, const ReadyLanes& ready, const void* from, void* to) {
  const PictureLayout picture = *PictureLayoutOf(inner().spec().observations[leaf].array.shape);
  const auto* pixels = static_cast<const uint8_t*>(from);
  auto* luma = static_cast<uint8_t*>(to);
  for (size_t row = 0; row < ready.lanes.size(); ++row) {
    if (picture.pixel_stride == 1) {
      WriteLuma<1>(picture.pixels(), picture.channel_stride, pixels, luma);
    } else {
      WriteLuma<3>(picture.pixels(), picture.channel_stride, pixels, luma);
    }
    pixels += 3 * picture.pixels();
    luma += picture.pixels();
  }
  return absl::OkStatus();
}

}  // namespace waggle
