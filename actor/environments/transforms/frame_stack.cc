#include "actor/environments/transforms/frame_stack.h"

#include <cstring>
#include <utility>

#include "actor/environments/transforms/chosen_leaves.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

void Repeat(int64_t times, std::vector<double>* bounds) {
  const std::vector<double> once = *bounds;
  for (int64_t i = 1; once.size() > 1 && i < times; ++i) {
    bounds->insert(bounds->end(), once.begin(), once.end());
  }
}

}  // namespace

void FrameStackSettings::Visit(ConfigVisitor& visitor) {
  visitor.Int("frames", &frames, In(1, 64));
  visitor.String("observation", &observation);
}

absl::Status FrameStack::Change(const Settings& settings, TransformedSpec* spec) {
  WAGGLE_ASSIGN_OR_RETURN(
      const std::vector<size_t> leaves,
      ChosenLeaves(
          *spec, settings.observation,
          [](const SpaceLeaf& leaf) { return leaf.num_values.empty() && leaf.array.NumBytes() <= kMaxArrayBytes / 64; },
          "a box or a multi-binary one; one_hot makes boxes of choices"));
  for (const size_t leaf : leaves) {
    SpaceLeaf& changed = spec->spec.observations[leaf];
    std::vector<int64_t>& shape = changed.array.shape;
    if (shape.empty() || shape.size() == 2) {
      shape.insert(shape.begin(), 1);
    }
    shape[0] *= settings.frames;
    Repeat(settings.frames, &changed.low);
    Repeat(settings.frames, &changed.high);
  }
  return absl::OkStatus();
}

FrameStack::FrameStack(const Settings& settings, TransformParts parts)
    : ObservationTransform(std::move(parts)), frames_(static_cast<size_t>(settings.frames)) {
  for (size_t leaf = 0; leaf < spec().observations.size(); ++leaf) {
    History& history = histories_.emplace_back();
    const ArraySpec& frame = inner().spec().observations[leaf].array;
    if (frame != spec().observations[leaf].array) {
      history.frame_bytes = static_cast<size_t>(frame.NumBytes());
      history.oldest.resize(static_cast<size_t>(lanes()));
      history.frames.resize(history.oldest.size() * frames_ * history.frame_bytes);
    }
  }
}

absl::Status FrameStack::Map(size_t leaf, const ReadyLanes& ready, const void* from, void* to) {
  History& history = histories_[leaf];
  const size_t bytes = history.frame_bytes;
  const auto* frame = static_cast<const char*>(from);
  auto* stacked = static_cast<char*>(to);
  for (size_t row = 0; row < ready.lanes.size(); ++row) {
    const auto lane = static_cast<size_t>(ready.lanes[row]);
    char* const ring = history.frames.data() + lane * frames_ * bytes;
    size_t& oldest = history.oldest[lane];
    for (size_t i = 0; ready.first[row] != 0 && i < frames_; ++i) {
      std::memcpy(ring + i * bytes, frame, bytes);
    }
    std::memcpy(ring + oldest * bytes, frame, bytes);
    oldest = oldest + 1 == frames_ ? 0 : oldest + 1;
    const size_t until_end = (frames_ - oldest) * bytes;
    std::memcpy(stacked, ring + oldest * bytes, until_end);
    std::memcpy(stacked + until_end, ring, oldest * bytes);
    frame += bytes;
    stacked += frames_ * bytes;
  }
  return absl::OkStatus();
}

}  // namespace waggle
