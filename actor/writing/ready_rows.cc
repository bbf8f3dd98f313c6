#include "actor/writing/ready_rows.h"

#include <algorithm>
#include <utility>

namespace waggle {

ReadyRows::ReadyRows(const EnvironmentSpec& spec, int64_t lanes)
    : frames_{NewFrame(spec, lanes), NewFrame(spec, lanes)},
      discounts_(static_cast<size_t>(lanes)),
      at_end_(static_cast<size_t>(lanes)) {
  for (const ArraySpec& reward : spec.rewards) {
    reward_elements_.push_back(static_cast<size_t>(reward.NumElements()));
    rewards_.emplace_back(static_cast<size_t>(lanes) * reward_elements_.back());
    reward_pointers_.push_back(rewards_.back().data());
  }
}

ReadyRows::Frame ReadyRows::NewFrame(const EnvironmentSpec& spec, int64_t lanes) {
  const auto rows = static_cast<size_t>(lanes);
  return {std::vector<int64_t>(rows), LeafArrays(ArraysOf(spec.observations), lanes), std::vector<int32_t>(rows),
          std::vector<uint8_t>(rows)};
}

void ReadyRows::ZeroRewards() {
  for (size_t i = 0; i < rewards_.size(); ++i) {
    std::fill_n(Rewards(i), reward_elements_[i], 0.0F);
  }
}

void ReadyRows::Add(int64_t lane, StepType step_type, float discount) {
  Frame& frame = frames_[1 - current_];
  frame.lanes[rows_] = lane;
  frame.step_types[rows_] = static_cast<int32_t>(step_type);
  frame.first[rows_] = step_type == StepType::kFirst ? 1 : 0;
  discounts_[rows_] = discount;
  at_end_[static_cast<size_t>(lane)] = step_type == StepType::kLast ? 1 : 0;
  ++rows_;
}

ReadyLanes ReadyRows::Show() {
  current_ = 1 - current_;
  const Frame& shown = frames_[current_];
  const size_t rows = std::exchange(rows_, 0);
  ReadyLanes ready;
  ready.lanes = {shown.lanes.data(), rows};
  ready.observations = shown.observations.pointers();
  ready.step_types = shown.step_types.data();
  ready.first = shown.first.data();
  ready.rewards = {reward_pointers_.data(), reward_pointers_.size()};
  ready.discounts = discounts_.data();
  return ready;
}

}  // namespace waggle
