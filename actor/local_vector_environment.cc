#include "actor/local_vector_environment.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"
#include "common/base/status_macros.h"

namespace waggle {

LocalVectorEnvironment::LocalVectorEnvironment(std::vector<std::unique_ptr<Environment>> environments)
    : environments_(std::move(environments), "lane"),
      frames_{NewFrame(), NewFrame()},
      discounts_(environments_.size()),
      at_end_(environments_.size()) {
  for (const ArraySpec& reward : spec().rewards) {
    reward_elements_.push_back(static_cast<size_t>(reward.NumElements()));
    rewards_.emplace_back(environments_.size() * reward_elements_.back());
    reward_pointers_.push_back(rewards_.back().data());
  }
}

LocalVectorEnvironment::Frame LocalVectorEnvironment::NewFrame() const {
  return {std::vector<int64_t>(environments_.size()), LeafArrays(ArraysOf(spec().observations), lanes()),
          std::vector<int32_t>(environments_.size()), std::vector<uint8_t>(environments_.size())};
}

absl::Status LocalVectorEnvironment::Reset() {
  rows_ = 0;
  Frame* const frame = &frames_[1 - current_];
  for (size_t lane = 0; lane < environments_.size(); ++lane) {
    WAGGLE_RETURN_IF_ERROR(StartEpisode(lane, frame));
  }
  return absl::OkStatus();
}

absl::Status LocalVectorEnvironment::Send(absl::Span<const int64_t> lanes, absl::Span<const void* const> actions) {
  Frame* const frame = &frames_[1 - current_];
  WAGGLE_CHECK(rows_ + lanes.size() <= environments_.size(), "actions are for lanes that are ready");
  for (size_t i = 0; i < lanes.size(); ++i) {
    const auto lane = static_cast<size_t>(lanes[i]);
    if (at_end_[lane] != 0) {
      WAGGLE_RETURN_IF_ERROR(StartEpisode(lane, frame));
    } else {
      WAGGLE_RETURN_IF_ERROR(StepLane(lane, actions, i, frame));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<ReadyLanes> LocalVectorEnvironment::Recv(int64_t at_least, const StopToken&) {
  WAGGLE_CHECK(at_least <= static_cast<int64_t>(rows_), "no more lanes can become ready than are under way");
  current_ = 1 - current_;
  const Frame& shown = frames_[current_];
  const size_t rows = std::exchange(rows_, 0);
  ReadyLanes ready;
  ready.lanes = {shown.lanes.data(), rows};
  ready.observations = shown.observations.pointers();
  ready.step_types = shown.step_types.data();
  ready.first = shown.first.data();
  ready.rewards = reward_pointers_;
  ready.discounts = discounts_.data();
  return ready;
}

absl::Status LocalVectorEnvironment::StepLane(size_t lane, absl::Span<const void* const> actions, size_t action_row,
                                              Frame* frame) {
  WAGGLE_ASSIGN_OR_RETURN(const LaneStep step,
                          environments_.Step(lane, actions, action_row, frame->observations.pointers(), rows_));
  for (size_t i = 0; i < rewards_.size(); ++i) {
    const size_t elements = reward_elements_[i];
    float* const row = rewards_[i].data() + rows_ * elements;
    if (elements == 1) {  // Nearly always.
      *row = *step.rewards[i];
    } else {
      std::copy_n(step.rewards[i], elements, row);
    }
  }
  discounts_[rows_] = step.terminated ? 0.0F : 1.0F;
  AddRow(lane, step.terminated || step.truncated ? StepType::kLast : StepType::kMid, frame);
  return absl::OkStatus();
}

absl::Status LocalVectorEnvironment::StartEpisode(size_t lane, Frame* frame) {
  WAGGLE_RETURN_IF_ERROR(environments_.Reset(lane, frame->observations.pointers(), rows_));
  for (size_t i = 0; i < rewards_.size(); ++i) {
    std::fill_n(rewards_[i].data() + rows_ * reward_elements_[i], reward_elements_[i], 0.0F);
  }
  discounts_[rows_] = 0;
  AddRow(lane, StepType::kFirst, frame);
  return absl::OkStatus();
}

void LocalVectorEnvironment::AddRow(size_t lane, StepType step_type, Frame* frame) {
  frame->lanes[rows_] = static_cast<int64_t>(lane);
  frame->step_types[rows_] = static_cast<int32_t>(step_type);
  frame->first[rows_] = step_type == StepType::kFirst ? 1 : 0;
  at_end_[lane] = step_type == StepType::kLast ? 1 : 0;
  ++rows_;
}

}  // namespace waggle
