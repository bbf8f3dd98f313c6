#include "actor/writing/window_cutter.h"

#include "absl/strings/str_cat.h"

namespace waggle {
namespace {

// The window [first, last].
RowWindow Between(uint64_t first, uint64_t last) {
  return RowWindow{first, static_cast<uint32_t>(last - first + 1)};
}

}  // namespace

absl::Status WindowCutter::Add(uint64_t row, StepType step_type, std::vector<RowWindow>* completed) {
  if (plan_.kind == WindowPlan::Kind::kUnroll) {
    CutUnrolls(row, completed);
    return absl::OkStatus();
  }
  if (in_episode_ == (step_type == StepType::kFirst)) {
    return absl::InvalidArgumentError(absl::StrCat("row ", row, " has step type ", static_cast<int>(step_type),
                                                   in_episode_ ? " within an episode" : " at an episode's beginning",
                                                   "; an episode's first row, and no other, has ",
                                                   static_cast<int>(StepType::kFirst)));
  }
  if (step_type == StepType::kFirst) {
    in_episode_ = true;
    next_ = row;
    return absl::OkStatus();
  }
  const bool last = step_type == StepType::kLast;
  in_episode_ = !last;
  switch (plan_.kind) {
    case WindowPlan::Kind::kNStep:
      CutSteps(row, last, completed);
      return absl::OkStatus();
    case WindowPlan::Kind::kSequence:
      CutSequences(row, last, completed);
      return absl::OkStatus();
    case WindowPlan::Kind::kEpisode:
      return CutEpisode(row, last, completed);
    case WindowPlan::Kind::kUnroll:
      break;
  }
  return absl::OkStatus();
}

absl::Status WindowCutter::CutEpisode(uint64_t row, bool last, std::vector<RowWindow>* completed) const {
  const RowWindow episode = Between(next_, row);
  if (episode.rows > plan_.length) {
    return absl::InvalidArgumentError(absl::StrCat("the episode that began at row ", next_, " has more than the ",
                                                   plan_.length, " rows that an item may have"));
  }
  if (last) {
    completed->push_back(episode);
  }
  return absl::OkStatus();
}

void WindowCutter::CutSteps(uint64_t row, bool last, std::vector<RowWindow>* completed) {
  if (row - next_ + 1 == static_cast<uint64_t>(plan_.length)) {
    completed->push_back(Between(next_++, row));
  }
  if (last) {
    while (next_ < row) {
      completed->push_back(Between(next_++, row));
    }
  }
}

void WindowCutter::CutSequences(uint64_t row, bool last, std::vector<RowWindow>* completed) {
  if (row + 1 == next_ + static_cast<uint64_t>(plan_.length)) {
    completed->push_back(Between(next_, row));
    next_ += static_cast<uint64_t>(plan_.period);
  } else if (last && next_ < row) {
    completed->push_back(Between(next_, row));
  }
}

void WindowCutter::CutUnrolls(uint64_t row, std::vector<RowWindow>* completed) {
  if (row + 1 == next_ + static_cast<uint64_t>(plan_.length)) {
    completed->push_back(Between(next_, row));
    next_ += static_cast<uint64_t>(plan_.period);
  }
}

absl::Status ValidateWindowPlan(const WindowPlan& plan, int64_t max_window) {
  if (plan.length < 2 || plan.length > max_window) {
    return absl::InvalidArgumentError(
        absl::StrCat("window.length: got ", plan.length, "; wanted 2 to ", max_window, ", the table's max_window"));
  }
  const bool has_period = plan.kind == WindowPlan::Kind::kSequence || plan.kind == WindowPlan::Kind::kUnroll;
  if (has_period && plan.period < 1) {
    return absl::InvalidArgumentError(absl::StrCat("window.period: got ", plan.period, "; wanted at least 1"));
  }
  return absl::OkStatus();
}

}  // namespace waggle
