#include "param_server/run/learner_group.h"

#include <algorithm>
#include <utility>

namespace waggle {

bool LearnerGroup::IsDue(const std::vector<std::string>& alive, absl::Time now) const {
  if (alive.empty()) {
    return false;
  }
  if (epoch_ == 0) {
    return static_cast<int64_t>(alive.size()) >= learners_ || now >= patient_until_;
  }
  return broken_ || alive != members_;
}

bool LearnerGroup::TakeDue(const std::vector<std::string>& alive, absl::Time now) {
  return !forming_ && (forming_ = IsDue(alive, now));
}

void LearnerGroup::Form(uint64_t epoch, std::vector<std::string> members) {
  epoch_ = epoch;
  members_ = std::move(members);
  broken_ = forming_ = false;
}

std::optional<GroupSeat> LearnerGroup::SeatOf(const std::string& worker_id) const {
  const auto member = std::find(members_.begin(), members_.end(), worker_id);
  if (member == members_.end()) {
    return std::nullopt;
  }
  return GroupSeat{epoch_, member - members_.begin(), static_cast<int64_t>(members_.size())};
}

}  // namespace waggle
