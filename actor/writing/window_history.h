#pragma once

#include <cstdint>
#include <vector>

#include "common/config/plan/table_plan.h"

namespace waggle {

// The latest rows of every lane, for initial priorities: each lane's last `max_window` rows are contiguous. One thread.
class WindowHistory {
 public:
  // `extras`: floats in a row.
  WindowHistory(int64_t lanes, int64_t max_window, int64_t extras);

  // Records row `row` of a lane; rows come in order, without a gap. Copies `facts`, extras included.
  void Set(int64_t lane, uint64_t row, const WindowRow& facts);

  // Row `first_row` of a lane and those after it; it must be among the lane's last max_window. Valid until the next
  // Set.
  const WindowRow* Rows(int64_t lane, uint64_t first_row) const;

 private:
  const size_t capacity_;
  const size_t extras_;
  // By lane, 2 * capacity_ rows. Row r is stored at r % capacity_ and again capacity_ further on, so that every window
  // is contiguous.
  std::vector<WindowRow> rows_;
  std::vector<float> extra_values_;
};

}  // namespace waggle
