#include "param_server/run/step_leases.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "param_server/run/counter_limit.h"

namespace waggle {
namespace {

constexpr double kLeaseSeconds = 2;
// Least time between two checks of all leases, as many actors may ask.
constexpr absl::Duration kSweepPeriod = absl::Milliseconds(100);

}  // namespace

absl::Status Validate(const StepRequest& request) {
  const auto is_count = [](int64_t number, int64_t least) {
    return number >= least && static_cast<double>(number) <= kMaxCounter;
  };
  if (!is_count(request.used, 0) || !is_count(request.allowed, 0) || !is_count(request.block, 1) ||
      !std::isfinite(request.rate) || request.rate < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("step request: got used: ", request.used, ", allowed: ", request.allowed,
                     ", block: ", request.block, ", rate: ", request.rate,
                     "; wanted counts of 0 to 2^53, a block of at least 1 and a finite rate of at least 0"));
  }
  return absl::OkStatus();
}

StepLeases::StepLeases(int64_t limit, std::set<std::string> restored, absl::Time now)
    : limit_(limit), begun_(now), restored_(std::move(restored)), swept_(now) {}

void StepLeases::Report(const std::string& worker_id, int64_t used) {
  if (const auto lease = leases_.find(worker_id); lease != leases_.end()) {
    Set(&lease->second, std::max(lease->second.used, used), lease->second.allowed);
  }
}

int64_t StepLeases::Take(const std::string& worker_id, const StepRequest& request, int64_t taken, int64_t actors,
                         absl::Time now) {
  ReturnOverdue(now);
  restored_.erase(worker_id);
  Lease& lease = leases_[worker_id];
  lease.renewed = now;
  const int64_t used = std::max(lease.used, request.used);
  Set(&lease, used, lease.allowed);
  // The actor keeps steps of an earlier hub or an overdue lease if no other lease has them.
  const int64_t held = std::clamp(request.allowed - used, lease.unused(),
                                  std::max(lease.unused(), limit_ - taken - (leased_ - lease.unused())));
  Set(&lease, used, used + held);
  if (!restored_.empty() && now - begun_ < kStepLeaseLife) {
    return lease.allowed;
  }
  const int64_t free = std::max<int64_t>(0, limit_ - taken - (leased_ - held));
  const double part = static_cast<double>(free) / (2.0 * static_cast<double>(std::max<int64_t>(1, actors)));
  const int64_t wanted =
      std::max(request.block, static_cast<int64_t>(std::min(kLeaseSeconds * std::max(0.0, request.rate), part)));
  Set(&lease, used, used + std::max(held, std::min(free, wanted)));
  return lease.allowed;
}

void StepLeases::Return(const std::string& worker_id) {
  restored_.erase(worker_id);
  if (const auto lease = leases_.find(worker_id); lease != leases_.end()) {
    leased_ -= lease->second.unused();
    leases_.erase(lease);
  }
}

void StepLeases::Set(Lease* lease, int64_t used, int64_t allowed) {
  leased_ -= lease->unused();
  lease->used = used;
  lease->allowed = allowed;
  leased_ += lease->unused();
}

void StepLeases::ReturnOverdue(absl::Time now) {
  if (now - swept_ < kSweepPeriod) {
    return;
  }
  swept_ = now;
  for (auto lease = leases_.begin(); lease != leases_.end();) {
    if (now - lease->second.renewed < kStepLeaseLife) {
      ++lease;
    } else {
      leased_ -= lease->second.unused();
      lease = leases_.erase(lease);
    }
  }
}

}  // namespace waggle
