#include "actor/environments/transforms/inner_steps.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "actor/writing/scalar_reward.h"
#include "common/base/check.h"
#include "common/base/status_macros.h"

namespace waggle {

InnerSteps::InnerSteps(TransformParts parts)
    : EnvironmentTransform(std::move(parts)),
      legal_(spec(), lanes()),
      actions_(ArraysOf(spec().actions), lanes()),
      again_(ArraysOf(spec().actions), lanes()),
      again_pointers_(again_.pointers().begin(), again_.pointers().end()),
      under_way_(static_cast<size_t>(lanes())),
      sums_(spec().rewards, lanes()),
      raw_sums_(under_way_.size()),
      products_(under_way_.size(), 1.0F),
      frames_{NewFrame(), NewFrame()},
      row_of_lane_(under_way_.size()),
      rewards_(spec().rewards, lanes()),
      raw_rewards_(under_way_.size()),
      discounts_(under_way_.size()) {
  step_again_.reserve(under_way_.size());
  start_again_.reserve(under_way_.size());
  for (const void* const rewards : rewards_.pointers()) {
    reward_pointers_.push_back(static_cast<const float*>(rewards));
  }
}

InnerSteps::Frame InnerSteps::NewFrame() const {
  const auto rows = static_cast<size_t>(lanes());
  return {std::vector<int64_t>(rows), LeafArrays(ArraysOf(spec().observations), lanes()), std::vector<int32_t>(rows),
          std::vector<uint8_t>(rows)};
}

void InnerSteps::SetNoOp(int64_t lane) {
  for (size_t leaf = 0; leaf < spec().actions.size(); ++leaf) {
    const auto bytes = static_cast<size_t>(spec().actions[leaf].array.NumBytes());
    std::memset(static_cast<char*>(actions_.pointers()[leaf]) + static_cast<size_t>(lane) * bytes, 0, bytes);
  }
}

void InnerSteps::SetUnderWay(absl::Span<const int64_t> lanes) {
  for (const int64_t lane : lanes) {
    under_way_[static_cast<size_t>(lane)] = 1;
  }
  num_under_way_ += static_cast<int64_t>(lanes.size());
}

absl::Status InnerSteps::Start(absl::Span<const int64_t> lanes) {
  SetUnderWay(lanes);
  return inner().Start(lanes);
}

absl::Status InnerSteps::Reset() {
  std::fill(under_way_.begin(), under_way_.end(), 1);
  num_under_way_ = lanes();
  rows_ = 0;
  return inner().Reset();
}

absl::Status InnerSteps::Send(absl::Span<const int64_t> lanes, absl::Span<const void* const> actions) {
  SetUnderWay(lanes);
  for (size_t row = 0; row < lanes.size(); ++row) {
    actions_.CopyRow(actions, row, static_cast<size_t>(lanes[row]));
  }
  return inner().Send(lanes, actions);
}

absl::StatusOr<ReadyLanes> InnerSteps::Recv(int64_t at_least, const StopToken& stop) {
  WAGGLE_CHECK(at_least <= num_under_way_, "no more lanes can become ready than are under way");
  whole_ = at_least == num_under_way_;
  size_t next = 0;
  for (size_t lane = 0; whole_ && lane < under_way_.size(); ++lane) {
    row_of_lane_[lane] = next;
    next += under_way_[lane];
  }
  while (rows_ < at_least) {
    WAGGLE_ASSIGN_OR_RETURN(const ReadyLanes ready, inner().Recv(1, stop));
    WAGGLE_RETURN_IF_ERROR(TakeRows(ready));
  }
  current_ = 1 - current_;
  const Frame& shown = frames_[current_];
  const auto rows = static_cast<size_t>(std::exchange(rows_, 0));
  num_under_way_ -= static_cast<int64_t>(rows);
  for (size_t row = 0; row < rows; ++row) {
    under_way_[static_cast<size_t>(shown.lanes[row])] = 0;
  }
  ReadyLanes ready;
  ready.lanes = {shown.lanes.data(), rows};
  ready.observations = shown.observations.pointers();
  ready.step_types = shown.step_types.data();
  ready.first = shown.first.data();
  ready.rewards = reward_pointers_;
  ready.discounts = discounts_.data();
  ready.raw_rewards = has_raw_rewards_ ? raw_rewards_.data() : nullptr;
  return ready;
}

absl::Status InnerSteps::TakeRows(const ReadyLanes& ready) {
  has_raw_rewards_ = ready.raw_rewards != nullptr;
  legal_.See(ready);
  step_again_.clear();
  start_again_.clear();
  for (size_t row = 0; row < ready.lanes.size(); ++row) {
    const int64_t lane = ready.lanes[row];
    AddOutcome(ready, row);
    switch (Take(ready, row)) {
      case Next::kShow:
        Show(ready, row, /*as_first=*/false);
        break;
      case Next::kShowAsFirst:
        Show(ready, row, /*as_first=*/true);
        break;
      case Next::kStep:
        again_.CopyRow(actions_.pointers(), static_cast<size_t>(lane), step_again_.size());
        step_again_.push_back(lane);
        break;
      case Next::kStart:
        start_again_.push_back(lane);
        break;
    }
  }
  if (!start_again_.empty()) {
    WAGGLE_RETURN_IF_ERROR(inner().Start(start_again_));
  }
  return step_again_.empty() ? absl::OkStatus() : inner().Send(step_again_, again_pointers_);
}

void InnerSteps::AddOutcome(const ReadyLanes& ready, size_t row) {
  const auto lane = static_cast<size_t>(ready.lanes[row]);
  const bool begins = ready.first[row] != 0;
  for (size_t leaf = 0; leaf < spec().rewards.size(); ++leaf) {
    const auto elements = static_cast<size_t>(spec().rewards[leaf].NumElements());
    float* const sums = static_cast<float*>(sums_.pointers()[leaf]) + lane * elements;
    const float* const rewards = ready.rewards[leaf] + row * elements;
    for (size_t i = 0; i < elements; ++i) {
      sums[i] = begins ? rewards[i] : sums[i] + rewards[i];
    }
  }
  products_[lane] = begins ? 1 : products_[lane] * ready.discounts[row];
  if (has_raw_rewards_) {
    raw_sums_[lane] = begins ? ready.raw_rewards[row] : raw_sums_[lane] + ready.raw_rewards[row];
  }
}

void InnerSteps::Show(const ReadyLanes& ready, size_t row, bool as_first) {
  const int64_t lane = ready.lanes[row];
  const auto lane_row = static_cast<size_t>(lane);
  const size_t to = whole_ ? row_of_lane_[lane_row] : static_cast<size_t>(rows_);
  Frame& frame = frames_[1 - current_];
  frame.lanes[to] = lane;
  frame.observations.CopyRow(ready.observations, row, to);
  Finish(lane, frame.observations.pointers(), to);
  frame.step_types[to] = as_first ? static_cast<int32_t>(StepType::kFirst) : ready.step_types[row];
  frame.first[to] = as_first ? 1 : ready.first[row];
  const float product = std::exchange(products_[lane_row], 1.0F);
  discounts_[to] = frame.first[to] != 0 ? 0 : product;
  for (size_t leaf = 0; leaf < spec().rewards.size(); ++leaf) {
    const auto elements = static_cast<size_t>(spec().rewards[leaf].NumElements());
    float* const sums = static_cast<float*>(sums_.pointers()[leaf]) + lane_row * elements;
    float* const rewards = static_cast<float*>(rewards_.pointers()[leaf]) + to * elements;
    for (size_t i = 0; i < elements; ++i) {
      rewards[i] = as_first ? 0 : sums[i];
      sums[i] = 0;
    }
  }
  raw_rewards_[to] = as_first ? 0 : raw_sums_[lane_row];
  raw_sums_[lane_row] = 0;
  ++rows_;
}

}  // namespace waggle
