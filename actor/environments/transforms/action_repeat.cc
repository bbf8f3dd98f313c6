#include "actor/environments/transforms/action_repeat.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "actor/environments/transforms/chosen_leaves.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

constexpr double kMaxRepeats = 1000;

absl::StatusOr<std::vector<size_t>> PooledLeaves(const ActionRepeatSettings& settings, const TransformedSpec& spec) {
  if (settings.max_pool == 1) {
    return std::vector<size_t>();
  }
  return ChosenLeaves(
      spec, settings.observation,
      [](const SpaceLeaf& leaf) {
        return leaf.kind == SpaceKind::kBox && leaf.array.shape.size() >= 2 &&
               (leaf.array.dtype == DType::kUint8 || leaf.array.dtype == DType::kFloat32);
      },
      "a box of uint8 or float32 with two dimensions or more, for max_pool");
}

template <class Element>
void TakeGreater(const void* from, size_t bytes, void* to) {
  const auto* const elements = static_cast<const Element*>(from);
  auto* const greatest = static_cast<Element*>(to);
  for (size_t i = 0; i < bytes / sizeof(Element); ++i) {
    greatest[i] = std::max(greatest[i], elements[i]);
  }
}

}  // namespace

void ActionRepeatSettings::Visit(ConfigVisitor& visitor) {
  visitor.Int("steps", &steps, In(1, kMaxRepeats));
  visitor.Int("max_pool", &max_pool, In(1, kMaxRepeats));
  if (visitor.Applies("observation", max_pool > 1, "means nothing with max_pool 1; wanted none")) {
    visitor.String("observation", &observation);
  }
}

absl::Status ActionRepeatSettings::Validate() const {
  return max_pool <= steps
             ? absl::OkStatus()
             : absl::InvalidArgumentError(absl::StrCat("max_pool: got ", max_pool, "; wanted at most steps, ", steps));
}

absl::Status ActionRepeat::Change(const Settings& settings, TransformedSpec* spec) {
  // A mask may end a repeat after each step.
  const bool has_masks = std::any_of(spec->spec.observations.begin(), spec->spec.observations.end(), IsActionMask);
  if (int64_t& limit = spec->spec.max_episode_steps; !has_masks) {
    limit = limit / settings.steps + (limit % settings.steps > 0 ? 1 : 0);
  }
  return PooledLeaves(settings, *spec).status();
}

ActionRepeat::ActionRepeat(const Settings& settings, TransformParts parts)
    : InnerSteps(std::move(parts)),
      steps_(settings.steps),
      max_pool_(settings.max_pool),
      steps_taken_(static_cast<size_t>(lanes())),
      frames_pooled_(static_cast<size_t>(lanes())) {
  const absl::StatusOr<std::vector<size_t>> pooled = PooledLeaves(settings, before());
  for (const size_t leaf : *pooled) {
    pools_.push_back({leaf, LeafArrays({spec().observations[leaf].array}, lanes())});
  }
}

InnerSteps::Next ActionRepeat::Take(const ReadyLanes& ready, size_t row) {
  const int64_t lane = ready.lanes[row];
  int64_t& taken = steps_taken_[static_cast<size_t>(lane)];
  if (ready.first[row] != 0) {
    taken = 0;
    frames_pooled_[static_cast<size_t>(lane)] = 0;
    return Next::kShow;
  }
  ++taken;
  if (taken > steps_ - max_pool_) {
    PoolRow(ready, row);
  }
  if (taken < steps_ && ready.step_types[row] == static_cast<int32_t>(StepType::kMid) && MayStep(lane)) {
    return Next::kStep;
  }
  taken = 0;
  return Next::kShow;
}

void ActionRepeat::PoolRow(const ReadyLanes& ready, size_t row) {
  const auto lane = static_cast<size_t>(ready.lanes[row]);
  const bool is_first = frames_pooled_[lane]++ == 0;
  for (const Pool& pool : pools_) {
    const ArraySpec& array = spec().observations[pool.leaf].array;
    const auto bytes = static_cast<size_t>(array.NumBytes());
    const void* const frame = static_cast<const char*>(ready.observations[pool.leaf]) + row * bytes;
    void* const greatest = static_cast<char*>(pool.greatest.pointers()[0]) + lane * bytes;
    if (is_first) {
      std::memcpy(greatest, frame, bytes);
    } else if (array.dtype == DType::kUint8) {
      TakeGreater<uint8_t>(frame, bytes, greatest);
    } else {
      TakeGreater<float>(frame, bytes, greatest);
    }
  }
}

void ActionRepeat::Finish(int64_t lane, absl::Span<void* const> observations, size_t row) {
  if (std::exchange(frames_pooled_[static_cast<size_t>(lane)], 0) <= 1) {
    return;
  }
  for (const Pool& pool : pools_) {
    const auto bytes = static_cast<size_t>(spec().observations[pool.leaf].array.NumBytes());
    std::memcpy(static_cast<char*>(observations[pool.leaf]) + row * bytes,
                static_cast<const char*>(pool.greatest.pointers()[0]) + static_cast<size_t>(lane) * bytes, bytes);
  }
}

}  // namespace waggle
