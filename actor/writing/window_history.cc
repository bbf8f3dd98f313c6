#include "actor/writing/window_history.h"

#include <algorithm>

namespace waggle {

WindowHistory::WindowHistory(int64_t lanes, int64_t max_window, int64_t extras)
    : capacity_(static_cast<size_t>(max_window)),
      extras_(static_cast<size_t>(extras)),
      rows_(static_cast<size_t>(lanes) * 2 * capacity_),
      extra_values_(static_cast<size_t>(lanes) * capacity_ * extras_) {
  for (size_t i = 0; i < rows_.size(); ++i) {
    const size_t lane = i / (2 * capacity_);
    rows_[i].extras = extra_values_.data() + (lane * capacity_ + i % capacity_) * extras_;
  }
}

void WindowHistory::Set(int64_t lane, uint64_t row, const WindowRow& facts) {
  const size_t slot = row % capacity_;
  const size_t index = static_cast<size_t>(lane) * 2 * capacity_ + slot;
  for (WindowRow* copy : {&rows_[index], &rows_[index + capacity_]}) {
    copy->reward = facts.reward;
    copy->discount = facts.discount;
    copy->first = facts.first;
  }
  std::copy_n(facts.extras, extras_, extra_values_.data() + (static_cast<size_t>(lane) * capacity_ + slot) * extras_);
}

const WindowRow* WindowHistory::Rows(int64_t lane, uint64_t first_row) const {
  return &rows_[static_cast<size_t>(lane) * 2 * capacity_ + first_row % capacity_];
}

}  // namespace waggle
