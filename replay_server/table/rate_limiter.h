#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "common/api/table_config.h"

namespace waggle {

// Decides when items may be inserted and sampled, so that the ratio of samples to inserts stays near what was asked
// for. waggle.v1.RateLimiterConfig states the rule. A pure function of counts; not thread-safe.
class RateLimiter {
 public:
  // The configuration is valid.
  explicit RateLimiter(const RateLimiterConfig& config) : config_(config) {}

  // `items` is how many the table holds.
  bool CanInsert(int64_t items) const;
  bool CanSample(int64_t items, int64_t batch_size) const;

  void CountInsert() { ++inserts_; }
  void CountSamples(int64_t samples) { samples_ += samples; }
  int64_t inserts() const { return inserts_; }
  int64_t samples() const { return samples_; }

  // FAILED_PRECONDITION if a batch of this size might never be allowed, because inserts could be blocked before enough
  // have come for it; says which setting is too small.
  absl::Status CheckBatchSize(int64_t batch_size) const;

  // In words, what an insert, or a batch, waits for; empty where it may go on.
  std::string WhyNoInsert(int64_t items) const;
  std::string WhyNoSample(int64_t items, int64_t batch_size) const;

 private:
  // How many samples the inserts so far are good for, less those made.
  double Credit() const;
  double Target() const { return static_cast<double>(config_.min_items) * config_.samples_per_insert; }

  const RateLimiterConfig config_;
  int64_t inserts_ = 0;
  int64_t samples_ = 0;
};

}  // namespace waggle
