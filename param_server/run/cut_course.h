#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/hub/ports/hub.h"

namespace waggle {

struct CutCourseOptions {
  std::string why_none;   // Why the run can have no cuts, in words; empty if it can.
  absl::Duration period;  // From one cut to the next; zero: cuts are made on request alone. Unused in lock-step.
  int64_t keep = 1;       // The newest cuts that stay.
};

// The cuts of a run, and the one that is being made. Pure logic over given times; not thread-safe.
class CutCourse {
 public:
  // `numbers`: those of the complete cuts.
  CutCourse(CutCourseOptions options, std::vector<uint64_t> numbers, absl::Time now);

  // FAILED_PRECONDITION if the run can have no cuts; UNAVAILABLE while one is being made.
  absl::Status CheckNext() const;
  // Begins a cut. CheckNext must be OK.
  void Begin(uint64_t number, absl::Time now);
  // A number that no attempt has had.
  uint64_t NextNumber() const { return last_ + 1; }
  // True if the time for a cut has come.
  bool IsDue(absl::Time now) const;
  // The learner's report. True once, if it has made its part of the cut that is being made.
  bool TakeReport(const CutReport& report);
  // Ends the attempt: `status` is that of the hub's part.
  void Saved(uint64_t number, const absl::Status& status);

  // The cut that is being made; 0: none.
  uint64_t in_progress() const { return in_progress_; }
  // The cut for the learner to make; 0: none.
  uint64_t wanted() const { return made_ ? 0 : in_progress_; }
  // In ascending order.
  const std::vector<uint64_t>& numbers() const { return numbers_; }
  // The newest attempt's number and error; 0 and empty if it did not fail.
  uint64_t failed() const { return failed_; }
  const std::string& failure() const { return failure_; }

 private:
  const CutCourseOptions options_;
  std::vector<uint64_t> numbers_;
  uint64_t last_ = 0;  // The largest number of an attempt.
  absl::Time begun_;   // The newest attempt, or this course.
  uint64_t in_progress_ = 0;
  bool made_ = false;  // The learner has made its part of in_progress_.
  uint64_t failed_ = 0;
  std::string failure_;
};

}  // namespace waggle
