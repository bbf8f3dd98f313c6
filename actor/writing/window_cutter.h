#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "common/config/plan/table_plan.h"
#include "common/config/spec/environment_spec.h"

namespace waggle {

// Rows [first_row, first_row + rows) of a stream.
struct RowWindow {
  uint64_t first_row = 0;
  uint32_t rows = 0;

  friend bool operator==(const RowWindow& a, const RowWindow& b) {
    return a.first_row == b.first_row && a.rows == b.rows;
  }
};

// Cuts one stream into windows as a plan says. Only unrolls cross an episode's boundary. Every window has at least two
// rows: a step, and the next observation. A sequence plan's windows start every `period` rows from the episode's first
// one, until a window reaches the episode's last row; that window may be shorter. One thread.
class WindowCutter {
 public:
  // The plan must be valid: see ValidateWindowPlan.
  explicit WindowCutter(const WindowPlan& plan) : plan_(plan) {}

  // Adds the stream's next row and appends the windows that it completes. INVALID_ARGUMENT if an episode does not begin
  // with kFirst, begins twice, or is longer than an episode plan allows. An unroll plan accepts any step types.
  absl::Status Add(uint64_t row, StepType step_type, std::vector<RowWindow>* completed);

 private:
  absl::Status CutEpisode(uint64_t row, bool last, std::vector<RowWindow>* completed) const;
  void CutSteps(uint64_t row, bool last, std::vector<RowWindow>* completed);
  void CutSequences(uint64_t row, bool last, std::vector<RowWindow>* completed);
  void CutUnrolls(uint64_t row, std::vector<RowWindow>* completed);

  const WindowPlan plan_;
  bool in_episode_ = false;
  uint64_t next_ = 0;  // The next window's first row; the episode's first row for an episode plan.
};

// INVALID_ARGUMENT unless the plan's windows have between two and `max_window` rows.
absl::Status ValidateWindowPlan(const WindowPlan& plan, int64_t max_window);

}  // namespace waggle
