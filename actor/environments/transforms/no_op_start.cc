#include "actor/environments/transforms/no_op_start.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace waggle {

absl::Status NoOpStart::Change(const Settings& /*settings*/, TransformedSpec* spec) {
  for (const SpaceLeaf& action : spec->spec.actions) {
    if (action.kind == SpaceKind::kBox) {
      return absl::InvalidArgumentError(
          absl::StrCat("got the action ", action.DebugString(), "; wanted actions that are choices"));
    }
  }
  return absl::OkStatus();
}

NoOpStart::NoOpStart(const Settings& settings, TransformParts parts)
    : InnerSteps(std::move(parts)),
      max_(settings.max),
      rngs_(LaneRngs()),
      left_(rngs_.size()),
      is_beginning_(rngs_.size()) {}

absl::Status NoOpStart::Reset() {
  std::fill(is_beginning_.begin(), is_beginning_.end(), 0);
  return InnerSteps::Reset();
}

InnerSteps::Next NoOpStart::Take(const ReadyLanes& ready, size_t row) {
  const int64_t lane = ready.lanes[row];
  const auto index = static_cast<size_t>(lane);
  if (ready.first[row] != 0 && is_beginning_[index] == 0) {
    is_beginning_[index] = 1;
    left_[index] = 1 + static_cast<int64_t>(rngs_[index].UniformInt(static_cast<uint64_t>(max_)));
    SetNoOp(lane);
  }
  if (is_beginning_[index] == 0) {
    return Next::kShow;
  }
  if (ready.step_types[row] == static_cast<int32_t>(StepType::kLast)) {
    return Next::kStart;
  }
  if (left_[index] == 0 || !MayStep(lane)) {
    is_beginning_[index] = 0;
    return Next::kShowAsFirst;
  }
  --left_[index];
  return Next::kStep;
}

}  // namespace waggle
