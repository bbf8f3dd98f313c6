#include "replay_server/table/rate_limiter.h"

#include <cmath>

#include "absl/strings/str_cat.h"

namespace waggle {

double RateLimiter::Credit() const {
  return static_cast<double>(inserts_) * config_.samples_per_insert - static_cast<double>(samples_);
}

bool RateLimiter::CanInsert(int64_t items) const {
  return config_.samples_per_insert == 0 || items < config_.min_items ||
         Credit() + config_.samples_per_insert <= Target() + config_.error_buffer;
}

bool RateLimiter::CanSample(int64_t items, int64_t batch_size) const {
  if (items < config_.min_items) {
    return false;
  }
  return config_.samples_per_insert == 0 ||
         Credit() - static_cast<double>(batch_size) >= Target() - config_.error_buffer;
}

absl::Status RateLimiter::CheckBatchSize(int64_t batch_size) const {
  const double needed = (config_.samples_per_insert + static_cast<double>(batch_size)) / 2;
  if (config_.samples_per_insert == 0 || config_.error_buffer >= needed) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat("rate_limiter.error_buffer is ", config_.error_buffer,
                                                    "; batches of ", batch_size, " with samples_per_insert ",
                                                    config_.samples_per_insert, " need at least ", needed,
                                                    ", or inserts and samples would block each other for ever"));
}

std::string RateLimiter::WhyNoInsert(int64_t items) const {
  if (CanInsert(items)) {
    return "";
  }
  const double excess = Credit() + config_.samples_per_insert - Target() - config_.error_buffer;
  return absl::StrCat("inserts wait for ", std::ceil(excess), " more samples: ", inserts_, " inserts and ", samples_,
                      " samples so far, samples_per_insert ", config_.samples_per_insert, " within ",
                      config_.error_buffer);
}

std::string RateLimiter::WhyNoSample(int64_t items, int64_t batch_size) const {
  if (CanSample(items, batch_size)) {
    return "";
  }
  if (items < config_.min_items) {
    return absl::StrCat("samples wait for ", config_.min_items - items, " more items: there are ", items,
                        ", min_items is ", config_.min_items);
  }
  const double missing = Target() - config_.error_buffer + static_cast<double>(batch_size) - Credit();
  return absl::StrCat("samples wait for ", std::ceil(missing / config_.samples_per_insert), " more inserts: ", inserts_,
                      " inserts and ", samples_, " samples so far, samples_per_insert ", config_.samples_per_insert,
                      " within ", config_.error_buffer, ", batches of ", batch_size);
}

}  // namespace waggle
