#include "param_server/workers/step_history.h"

#include <algorithm>
#include <iterator>

namespace waggle {
namespace {

// A minute and more of hundreds of actors, which report every second.
constexpr size_t kMaxStretches = 16'384;

}  // namespace

void StepHistory::Add(const std::string& worker_id, double steps, absl::Time now) {
  const auto [last, first_time] = last_report_.emplace(worker_id, now);
  if (steps > 0) {
    stretches_.push_back({last->second, now, steps});
  }
  last->second = now;
  if (stretches_.size() > kMaxStretches) {
    forgotten_until_ = stretches_.front().to;
    stretches_.pop_front();
  }
}

void StepHistory::KeepOnly(const std::function<bool(const std::string& worker_id)>& may_report) {
  for (auto last = last_report_.begin(); last != last_report_.end();) {
    last = may_report(last->first) ? std::next(last) : last_report_.erase(last);
  }
}

std::optional<double> StepHistory::Until(absl::Time time, double total) const {
  if (time < forgotten_until_) {
    return std::nullopt;
  }
  for (auto stretch = stretches_.rbegin(); stretch != stretches_.rend() && stretch->to > time; ++stretch) {
    const absl::Time from = std::max(stretch->from, time);
    const bool at_once = stretch->from == stretch->to;
    total -=
        at_once ? stretch->steps : stretch->steps * absl::FDivDuration(stretch->to - from, stretch->to - stretch->from);
  }
  return std::max(0.0, total);
}

}  // namespace waggle
