#include "param_server/run/cut_course.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace waggle {
namespace {

// A wrong report must not use all numbers up.
constexpr uint64_t kLargestNumber = uint64_t{1} << 62;

}  // namespace

CutCourse::CutCourse(CutCourseOptions options, std::vector<uint64_t> numbers, absl::Time now)
    : options_(std::move(options)), numbers_(std::move(numbers)), begun_(now) {
  std::sort(numbers_.begin(), numbers_.end());
  last_ = numbers_.empty() ? 0 : numbers_.back();
}

absl::Status CutCourse::CheckNext() const {
  if (!options_.why_none.empty()) {
    return absl::FailedPreconditionError(options_.why_none);
  }
  if (in_progress_ != 0) {
    return absl::UnavailableError(absl::StrCat("cut ", in_progress_, " is being made"));
  }
  return absl::OkStatus();
}

void CutCourse::Begin(uint64_t number, absl::Time now) {
  begun_ = now;
  made_ = false;
  in_progress_ = number;
  last_ = std::max(last_, number);
}

bool CutCourse::IsDue(absl::Time now) const {
  return options_.period > absl::ZeroDuration() && in_progress_ == 0 && now - begun_ >= options_.period;
}

bool CutCourse::TakeReport(const CutReport& report) {
  if (made_ || report.number == 0 || report.number != in_progress_) {
    // Workers repeat their reports, also those of an earlier hub's attempts, whose numbers are not given again.
    last_ = std::max(last_, std::min(report.number, kLargestNumber));
    return false;
  }
  if (!report.failure.empty()) {
    Saved(report.number, absl::UnknownError(report.failure));
    return false;
  }
  made_ = true;
  return true;
}

void CutCourse::Saved(uint64_t number, const absl::Status& status) {
  if (number != in_progress_) {
    return;
  }
  in_progress_ = 0;
  failed_ = status.ok() ? 0 : number;
  failure_ = std::string(status.message());
  if (!status.ok()) {
    return;
  }
  numbers_.push_back(number);
  while (static_cast<int64_t>(numbers_.size()) > options_.keep) {
    numbers_.erase(numbers_.begin());
  }
}

}  // namespace waggle
