#include "replay_server/items/rate_limiter.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"

namespace waggle {

double RateLimiter::Difference() const {
  return Difference(config_);
}

double RateLimiter::Difference(const RateLimiterConfig& config) const {
  return carried_ + static_cast<double>(inserts_) * config.samples_per_insert - static_cast<double>(samples_);
}

double RateLimiter::FromMiddle(const RateLimiterConfig& config, int64_t items) const {
  const auto free_inserts = static_cast<double>(std::max<int64_t>(0, config.min_items - items));
  return Difference(config) + free_inserts * config.samples_per_insert -
         (config.MinDifference() + config.MaxDifference()) / 2;
}

void RateLimiter::Reconfigure(const RateLimiterConfig& config, int64_t items) {
  const RateLimiterConfig from = std::exchange(config_, config);
  const bool both_around_middle = !from.min_difference.has_value() && !config.min_difference.has_value();
  const bool moves = from.samples_per_insert != config.samples_per_insert ||
                     (both_around_middle && from.min_items != config.min_items);
  if (inserts_ > 0 && moves) {
    const double before = from.samples_per_insert == 0 ? 0 : FromMiddle(from, items);
    const double most = (config.MaxDifference() - config.MinDifference()) / 2;
    carried_ += std::clamp(before, -most, most) - FromMiddle(config, items);
  }
  if (config.CountsInIntegers()) {
    carried_ = std::floor(carried_);  // WhyStuck relies on an integer difference.
  }
}

double RateLimiter::SamplesAllowed() const {
  return config_.samples_per_insert == 0 ? std::numeric_limits<double>::infinity()
                                         : std::max(0.0, Difference() - config_.MinDifference());
}

double RateLimiter::InsertsAllowed(int64_t items) const {
  if (config_.samples_per_insert == 0) {
    return std::numeric_limits<double>::infinity();
  }
  const auto free_inserts = static_cast<double>(std::max<int64_t>(0, config_.min_items - items));
  return std::max(free_inserts, std::floor((config_.MaxDifference() - Difference()) / config_.samples_per_insert));
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
                      " samples_per_insert",
                      carried_ == 0 ? "" : absl::StrCat(" and with ", carried_, " from before it was changed"),
                      ", make a difference of ", Difference());
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
