#include "actor/vector_environment.h"

#include <algorithm>
#include <utility>

#include "actor/scalar_reward.h"
#include "common/base/status_macros.h"

namespace waggle {

VectorEnvironment::VectorEnvironment(std::vector<std::unique_ptr<Environment>> environments)
    : environments_(std::move(environments), "lane"),
      frames_{NewFrame(), NewFrame()},
      discounts_(environments_.size()),
      running_(environments_.size()) {
  for (const ArraySpec& reward : spec().rewards) {
    reward_dimensions_.push_back(static_cast<size_t>(reward.NumElements()));
    rewards_.emplace_back(environments_.size() * reward_dimensions_.back());
    reward_pointers_.push_back(rewards_.back().data());
  }
  finished_.reserve(environments_.size());
}

VectorEnvironment::Frame VectorEnvironment::NewFrame() const {
  return {LeafArrays(ArraysOf(spec().observations), lanes()), std::vector<int32_t>(environments_.size()),
          std::vector<uint8_t>(environments_.size())};
}

absl::Status VectorEnvironment::Reset() {
  finished_.clear();
  for (size_t lane = 0; lane < environments_.size(); ++lane) {
    WAGGLE_RETURN_IF_ERROR(StartEpisode(lane, &frames_[current_]));
  }
  return absl::OkStatus();
}

absl::Status VectorEnvironment::Step(absl::Span<const void* const> actions) {
  const Frame& present = frames_[current_];
  Frame* next = &frames_[1 - current_];
  finished_.clear();
  for (size_t lane = 0; lane < environments_.size(); ++lane) {
    if (present.step_types[lane] == static_cast<int32_t>(StepType::kLast)) {
      WAGGLE_RETURN_IF_ERROR(StartEpisode(lane, next));
    } else {
      WAGGLE_RETURN_IF_ERROR(StepLane(lane, actions, next));
    }
  }
  current_ = 1 - current_;
  return absl::OkStatus();
}

LaneObservations VectorEnvironment::View(size_t frame) const {
  const Frame& shown = frames_[frame];
  return {shown.observations.pointers(), shown.step_types.data(), shown.first.data()};
}

absl::Status VectorEnvironment::StepLane(size_t lane, absl::Span<const void* const> actions, Frame* next) {
  WAGGLE_ASSIGN_OR_RETURN(const LaneStep step,
                          environments_.Step(lane, actions, lane, next->observations.pointers(), lane));
  ++env_steps_;
  for (size_t i = 0; i < rewards_.size(); ++i) {
    const size_t dimensions = reward_dimensions_[i];
    std::copy_n(step.rewards[i], dimensions, rewards_[i].data() + lane * dimensions);
  }
  discounts_[lane] = step.terminated ? 0.0F : 1.0F;
  FinishedEpisode& episode = running_[lane];
  ++episode.steps;
  episode.total_reward += ScalarReward(spec().rewards, step.rewards, 0);
  const bool last = step.terminated || step.truncated;
  next->step_types[lane] = static_cast<int32_t>(last ? StepType::kLast : StepType::kMid);
  next->first[lane] = 0;
  if (last) {
    finished_.push_back(episode);
  }
  return absl::OkStatus();
}

absl::Status VectorEnvironment::StartEpisode(size_t lane, Frame* frame) {
  WAGGLE_RETURN_IF_ERROR(environments_.Reset(lane, frame->observations.pointers(), lane));
  for (size_t i = 0; i < rewards_.size(); ++i) {
    std::fill_n(rewards_[i].data() + lane * reward_dimensions_[i], reward_dimensions_[i], 0.0F);
  }
  discounts_[lane] = 0;
  frame->step_types[lane] = static_cast<int32_t>(StepType::kFirst);
  frame->first[lane] = 1;
  running_[lane] = FinishedEpisode{static_cast<int64_t>(lane), 0, 0};
  return absl::OkStatus();
}

}  // namespace waggle
