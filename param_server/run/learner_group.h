#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/hub/ports/hub.h"

namespace waggle {

// Which of a run's learners train together: a group is formed once all have joined, and anew whenever one of it is
// gone, another one has come, or one could not reach the others. Pure logic over times that it is given; not
// thread-safe.
class LearnerGroup {
 public:
  // Of a run with so many learners. From `patient_until` on the first group is formed of those who are there: for a hub
  // that comes after another one, whose learners may be fewer by now.
  LearnerGroup(int64_t learners, absl::Time patient_until) : learners_(learners), patient_until_(patient_until) {}

  // True if another group must be formed of the learners that are alive, in the order of their indices.
  bool IsDue(const std::vector<std::string>& alive, absl::Time now) const;
  // True once if IsDue, until Form or StopForming: the caller has the group formed.
  bool TakeDue(const std::vector<std::string>& alive, absl::Time now);

  // They are a group from now on, whose epoch is larger than that of the last one.
  void Form(uint64_t epoch, std::vector<std::string> members);
  // No group could be formed for now.
  void StopForming() { forming_ = false; }

  // A learner could not reach the others of the group of this epoch; of an earlier group it means nothing any more.
  void ReportBroken(uint64_t epoch) { broken_ = broken_ || epoch == epoch_; }

  // Absent for a learner that is not of the group.
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
