#include "actor/environments/transforms/pictures/resize.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "actor/environments/transforms/chosen_leaves.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

constexpr double kMaxSide = 4096;

void Store(float mean, float* to) {
  *to = mean;
}

void Store(float mean, uint8_t* to) {
  *to = static_cast<uint8_t>(std::min(mean + 0.5F, 255.0F));
}

}  // namespace

void ResizeSettings::Visit(ConfigVisitor& visitor) {
  visitor.Int("height", &height, In(1, kMaxSide));
  visitor.Int("width", &width, In(1, kMaxSide));
  visitor.String("observation", &observation);
}

absl::Status Resize::Change(const Settings& settings, TransformedSpec* spec) {
  WAGGLE_ASSIGN_OR_RETURN(
      const std::vector<size_t> leaves,
      ChosenLeaves(
          *spec, settings.observation,
          [](const SpaceLeaf& leaf) {
            return leaf.kind == SpaceKind::kBox && PictureLayoutOf(leaf.array.shape).has_value() &&
                   (leaf.array.dtype == DType::kUint8 || leaf.array.dtype == DType::kFloat32);
          },
          "a box of uint8 or float32, [height, width], [channels, height, width] or [height, width, channels]"));
  for (const size_t leaf : leaves) {
    SpaceLeaf& changed = spec->spec.observations[leaf];
    const PictureLayout picture = *PictureLayoutOf(changed.array.shape);
    WidenBounds(&changed);
    if (changed.array.shape.size() == 2) {
      changed.array.shape = {settings.height, settings.width};
    } else {
      changed.array.shape = {picture.channels, settings.height, settings.width};
    }
  }
  return absl::OkStatus();
}

std::vector<Resize::Cover> Resize::Covers(int64_t from, int64_t to) {
  std::vector<Cover> covers(static_cast<size_t>(to));
  for (int64_t i = 0; i < to; ++i) {
    // In units of 1/to of an element, so that ends are exact.
    const int64_t begin = i * from;
    const int64_t end = (i + 1) * from;
    Cover& cover = covers[static_cast<size_t>(i)];
    cover.first = begin / to;
    for (int64_t element = cover.first; element * to < end; ++element) {
      const int64_t shared = std::min(end, (element + 1) * to) - std::max(begin, element * to);
      cover.weights.push_back(static_cast<float>(static_cast<double>(shared) / static_cast<double>(from)));
    }
  }
  return covers;
}

Resize::Resize(const Settings& settings, TransformParts parts) : ObservationTransform(std::move(parts)) {
  for (size_t leaf = 0; leaf < spec().observations.size(); ++leaf) {
    Plan& plan = plans_.emplace_back();
    const std::vector<int64_t>& shape = inner().spec().observations[leaf].array.shape;
    if (shape != spec().observations[leaf].array.shape) {
      plan.picture = *PictureLayoutOf(shape);
      plan.rows = Covers(plan.picture.height, settings.height);
      plan.columns = Covers(plan.picture.width, settings.width);
      line_.resize(std::max(line_.size(), static_cast<size_t>(plan.picture.width)));
    }
  }
}

absl::Status Resize::Map(size_t leaf, const ReadyLanes& ready, const void* from, void* to) {
  if (spec().observations[leaf].array.dtype == DType::kUint8) {
    MapPictures(plans_[leaf], ready.lanes.size(), static_cast<const uint8_t*>(from), static_cast<uint8_t*>(to));
  } else {
    MapPictures(plans_[leaf], ready.lanes.size(), static_cast<const float*>(from), static_cast<float*>(to));
  }
  return absl::OkStatus();
}

template <class Element>
void Resize::MapPictures(const Plan& plan, size_t pictures, const Element* from, Element* to) {
  const PictureLayout& picture = plan.picture;
  const int64_t stride = picture.pixel_stride;
  float* const line = line_.data();
  for (size_t i = 0; i < pictures; ++i, from += picture.channels * picture.pixels()) {
    for (int64_t channel = 0; channel < picture.channels; ++channel) {
      for (const Cover& row : plan.rows) {
        std::fill_n(line, picture.width, 0.0F);
        const Element* elements = from + channel * picture.channel_stride + row.first * picture.width * stride;
        for (const float weight : row.weights) {
          for (int64_t column = 0; column < picture.width; ++column) {
            line[column] += weight * static_cast<float>(elements[column * stride]);
          }
          elements += picture.width * stride;
        }
        for (const Cover& column : plan.columns) {
          const float* const covered = line + column.first;
          float mean = 0;
          for (size_t k = 0; k < column.weights.size(); ++k) {
            mean += column.weights[k] * covered[k];
          }
          Store(mean, to++);
        }
      }
    }
  }
}

}  // namespace waggle
