#include "replay_server/items/rate_limiter.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"

namespace waggle {

double RateLimiter::Difference() const {
  return static_cast<double>(inserts_) * config_.samples_per_insert - static_cast<double>(samples_);
}

double RateLimiter::SamplesAllowed() const {
  return config_.samples_per_insert == 0 ? std::numeric_limits<double>::infinity()
                                         : std::max(0.0, Difference() - config_.MinDifference());
}

bool RateLimiter::CanInsert(int64_t items) const {
  return config_.samples_per_insert == 0 || items < config_.min_items ||
         Difference() + config_.samples_per_insert <= config_.MaxDifference();
}

bool RateLimiter::CanSample(int64_t items, int64_t batch_size) const {
  if (items < config_.min_items) {
    return false;
  }
  return config_.samples_per_insert == 0 || batch_size == 0 ||
         Difference() - static_cast<double>(batch_size) >= config_.MinDifference();
}

absl::Status RateLimiter::CheckBatchSize(int64_t batch_size) const {
  const std::string stuck = config_.WhyStuck(batch_size);
  return stuck.empty() ? absl::OkStatus() : absl::FailedPreconditionError(stuck);
}

std::string RateLimiter::Counts() const {
  return absl::StrCat(inserts_, " inserts and ", samples_, " samples so far, at ", config_.samples_per_insert,
                      " samples_per_insert, make a difference of ", Difference());
}

std::string RateLimiter::WhyNoInsert(int64_t items) const {
  if (CanInsert(items)) {
    return "";
  }
  const double excess = Difference() + config_.samples_per_insert - config_.MaxDifference();
  return absl::StrCat("inserts wait for ", std::ceil(excess), " more samples: ", Counts(),
                      ", and one more insert may not take it past ", config_.MaxDifference());
}

std::string RateLimiter::WhyNoSample(int64_t items, int64_t batch_size) const {
  if (CanSample(items, batch_size)) {
    return "";
  }
  if (items < config_.min_items) {
    return absl::StrCat("samples wait for ", config_.min_items - items, " more items: there are ", items,
                        ", min_items is ", config_.min_items);
  }
  const double missing = config_.MinDifference() + static_cast<double>(batch_size) - Difference();
  return absl::StrCat("samples wait for ", std::ceil(missing / config_.samples_per_insert), " more inserts: ", Counts(),
                      ", and a batch of ", batch_size, " may not take it below ", config_.MinDifference());
}

}  // namespace waggle
