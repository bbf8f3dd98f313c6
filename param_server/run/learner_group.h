#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/hub/ports/hub.h"

namespace waggle {

// The learners of a run that train together. A group is formed once all have joined, and again if a member is gone,
// another learner has joined, or a member could not reach the others. Pure logic over given times; not thread-safe.
class LearnerGroup {
 public:
  // From `patient_until` on the first group is formed with fewer learners too: some may have left an earlier hub.
  LearnerGroup(int64_t learners, absl::Time patient_until) : learners_(learners), patient_until_(patient_until) {}

  // True if another group must be formed. `alive`: the living learners in the order of their indices.
  bool IsDue(const std::vector<std::string>& alive, absl::Time now) const;
  // IsDue, but true only once until Form or StopForming: the caller forms the group.
  bool TakeDue(const std::vector<std::string>& alive, absl::Time now);

  // `epoch` is larger than that of the last group.
  void Form(uint64_t epoch, std::vector<std::string> members);
  // No group could be formed for now.
  void StopForming() { forming_ = false; }

  // A learner could not reach the others of the group of this epoch. Reports about earlier groups are ignored.
  void ReportBroken(uint64_t epoch) { broken_ = broken_ || epoch == epoch_; }

  // Absent if the learner is not in the group.
  std::optional<GroupSeat> SeatOf(const std::string& worker_id) const;

  const std::vector<std::string>& members() const { return members_; }

 private:
  const int64_t learners_;
  const absl::Time patient_until_;
  uint64_t epoch_ = 0;                // 0: there is no group yet.
  std::vector<std::string> members_;  // By rank.
  bool broken_ = false;
  bool forming_ = false;
};

}  // namespace waggle
