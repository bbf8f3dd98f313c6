#include "actor/writing/pending_rows.h"

#include <cstring>
#include <numeric>

namespace waggle {
namespace {

std::vector<int64_t> CountTo(int64_t lanes) {
  std::vector<int64_t> numbers(static_cast<size_t>(lanes));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

// Row i of `rows` becomes row lanes[i] of `by_lane`.
void Scatter(absl::Span<const int64_t> lanes, size_t row_bytes, const void* rows, void* by_lane) {
  for (size_t i = 0; i < lanes.size(); ++i) {
    std::memcpy(static_cast<char*>(by_lane) + static_cast<size_t>(lanes[i]) * row_bytes,
                static_cast<const char*>(rows) + i * row_bytes, row_bytes);
  }
}

template <class Specs, class Sources>
void ScatterLeaves(absl::Span<const int64_t> lanes, const Specs& specs, const Sources& sources,
                   const LeafArrays& by_lane) {
  for (size_t i = 0; i < specs.size(); ++i) {
    Scatter(lanes, static_cast<size_t>(specs[i].NumBytes()), sources[i], by_lane.pointers()[i]);
  }
}

}  // namespace

PendingRows::PendingRows(const EnvironmentSpec& environment, const Policy& policy, int64_t lanes)
    : environment_(environment),
      columns_(policy.columns()),
      private_columns_(policy.private_columns().size()),
      lanes_(static_cast<size_t>(lanes)),
      kept_(lanes_),
      all_lanes_(CountTo(lanes)) {}

void PendingRows::Keep(const ReadyLanes& shown, const PolicyOutput& decided) {
  LaneRows rows;
  rows.observations = shown.observations;
  rows.actions = decided.actions;
  rows.step_types = shown.step_types;
  rows.policy_columns = decided.columns;
  rows.private_values = decided.private_values;
  borrowed_ = IsAllInOrder(shown.lanes);
  if (borrowed_) {
    borrowed_rows_ = rows;
  } else {
    Copy(shown.lanes, rows);
  }
  if (lanes_kept_ < lanes_) {
    for (const int64_t lane : shown.lanes) {
      lanes_kept_ += kept_[static_cast<size_t>(lane)] == 0 ? 1 : 0;
      kept_[static_cast<size_t>(lane)] = 1;
    }
  }
}

PendingRows::Complete PendingRows::Take(const ReadyLanes& led_to) {
  Complete complete;
  complete.lanes = LanesWithRows(led_to.lanes);
  if (complete.lanes.empty()) {
    return complete;
  }
  if (borrowed_ && IsAllInOrder(led_to.lanes)) {
    complete.rows = borrowed_rows_;
    complete.rows.rewards = led_to.rewards;
    complete.rows.discounts = led_to.discounts;
    return complete;
  }
  if (borrowed_) {
    Copy(all_lanes_, borrowed_rows_);
    borrowed_ = false;
  }
  ScatterLeaves(led_to.lanes, environment_.rewards, led_to.rewards, own_->rewards);
  Scatter(led_to.lanes, sizeof(float), led_to.discounts, own_->discounts.data());
  complete.rows = RowsOf(*own_);
  return complete;
}

PendingRows::Complete PendingRows::Show(const ReadyLanes& shown) {
  if (shown_ == nullptr) {
    shown_ = NewRows();
  }
  ScatterLeaves(shown.lanes, ArraysOf(environment_.observations), shown.observations, shown_->observations);
  Scatter(shown.lanes, sizeof(int32_t), shown.step_types, shown_->step_types.data());
  return {shown.lanes, RowsOf(*shown_)};
}

LaneRows PendingRows::RowsOf(const ByLane& by_lane) {
  LaneRows rows;
  rows.observations = by_lane.observations.pointers();
  rows.actions = by_lane.actions.pointers();
  rows.rewards = by_lane.reward_pointers;
  rows.discounts = by_lane.discounts.data();
  rows.step_types = by_lane.step_types.data();
  rows.policy_columns = by_lane.columns.pointers();
  rows.private_values = by_lane.private_values.data();
  return rows;
}

bool PendingRows::IsAllInOrder(absl::Span<const int64_t> lanes) const {
  return lanes == absl::MakeConstSpan(all_lanes_);
}

std::unique_ptr<PendingRows::ByLane> PendingRows::NewRows() const {
  const auto count = static_cast<int64_t>(lanes_);
  std::unique_ptr<ByLane> rows(new ByLane{LeafArrays(ArraysOf(environment_.observations), count),
                                          LeafArrays(ArraysOf(environment_.actions), count),
                                          LeafArrays(columns_, count),
                                          std::vector<float>(lanes_ * private_columns_),
                                          std::vector<int32_t>(lanes_),
                                          LeafArrays(environment_.rewards, count),
                                          {},
                                          std::vector<float>(lanes_)});
  for (const void* rewards : rows->rewards.pointers()) {
    rows->reward_pointers.push_back(static_cast<const float*>(rewards));
  }
  return rows;
}

void PendingRows::Copy(absl::Span<const int64_t> lanes, const LaneRows& rows) {
  if (own_ == nullptr) {
    own_ = NewRows();
  }
  ScatterLeaves(lanes, ArraysOf(environment_.observations), rows.observations, own_->observations);
  ScatterLeaves(lanes, ArraysOf(environment_.actions), rows.actions, own_->actions);
  ScatterLeaves(lanes, columns_, rows.policy_columns, own_->columns);
  Scatter(lanes, sizeof(float) * private_columns_, rows.private_values, own_->private_values.data());
  Scatter(lanes, sizeof(int32_t), rows.step_types, own_->step_types.data());
}

absl::Span<const int64_t> PendingRows::LanesWithRows(absl::Span<const int64_t> lanes) {
  if (lanes_kept_ == lanes_) {
    return lanes;
  }
  with_rows_.clear();
  for (const int64_t lane : lanes) {
    if (kept_[static_cast<size_t>(lane)] != 0) {
      with_rows_.push_back(lane);
    }
  }
  return with_rows_;
}

}  // namespace waggle
