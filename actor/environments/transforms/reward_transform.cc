#include "actor/environments/transforms/reward_transform.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "actor/writing/scalar_reward.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

constexpr double kLargest = 1e30;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

void RewardClip::Visit(ConfigVisitor& visitor) {
  visitor.OptionalDouble("min", &min, In(-kLargest, kLargest));
  visitor.OptionalDouble("max", &max, In(-kLargest, kLargest));
}

absl::Status RewardClip::Validate() const {
  return min.value_or(-kInfinity) < max.value_or(kInfinity)
             ? absl::OkStatus()
             : absl::InvalidArgumentError(absl::StrCat("min: got ", *min, "; wanted less than max, ", *max));
}

void RewardSettings::Visit(ConfigVisitor& visitor) {
  visitor.Double("shift", &shift, In(-kLargest, kLargest));
  visitor.Double("scale", &scale, In(-kLargest, kLargest));
  visitor.Section("clip", &clip);
}

absl::Status RewardTransform::Change(const Settings& /*settings*/, TransformedSpec* /*spec*/) {
  return absl::OkStatus();
}

RewardTransform::RewardTransform(const Settings& settings, TransformParts parts)
    : EnvironmentTransform(std::move(parts)),
      shift_(static_cast<float>(settings.shift)),
      scale_(static_cast<float>(settings.scale)),
      // Without a clip a reward is still finite.
      min_(static_cast<float>(settings.clip.min.value_or(std::numeric_limits<float>::lowest()))),
      max_(static_cast<float>(settings.clip.max.value_or(std::numeric_limits<float>::max()))),
      rewards_(spec().rewards, lanes()),
      raw_rewards_(static_cast<size_t>(lanes())) {
  for (const void* const rewards : rewards_.pointers()) {
    pointers_.push_back(static_cast<const float*>(rewards));
  }
}

absl::StatusOr<ReadyLanes> RewardTransform::Recv(int64_t at_least, const StopToken& stop) {
  WAGGLE_ASSIGN_OR_RETURN(ReadyLanes ready, inner().Recv(at_least, stop));
  if (ready.raw_rewards == nullptr) {
    for (size_t row = 0; row < ready.lanes.size(); ++row) {
      raw_rewards_[row] = ScalarReward(spec().rewards, ready.rewards, row);
    }
    ready.raw_rewards = raw_rewards_.data();
  }
  for (size_t leaf = 0; leaf < pointers_.size(); ++leaf) {
    MapRewards(ready, ready.rewards[leaf], static_cast<size_t>(spec().rewards[leaf].NumElements()),
               static_cast<float*>(rewards_.pointers()[leaf]));
  }
  ready.rewards = pointers_;
  return ready;
}

void RewardTransform::MapRewards(const ReadyLanes& ready, const float* from, size_t elements, float* to) const {
  for (size_t row = 0; row < ready.lanes.size(); ++row) {
    for (size_t i = 0; i < elements; ++i, ++from, ++to) {
      *to = ready.first[row] != 0 ? 0 : std::clamp((*from + shift_) * scale_, min_, max_);
    }
  }
}

}  // namespace waggle
