#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "common/config/table/table_config.h"

namespace waggle {

// Decides when items may be inserted and sampled, so that the ratio of samples to inserts stays near the configured
// one. waggle.v1.RateLimiterConfig has the rule. A pure function of counts; not thread-safe.
class RateLimiter {
 public:
  // The configuration must be valid.
  explicit RateLimiter(const RateLimiterConfig& config) : config_(config) {}

  // `items` is the table's number of items. A batch of 0 samples only needs min_items.
  bool CanInsert(int64_t items) const;
  bool CanSample(int64_t items, int64_t batch_size) const;

  void CountInsert() { ++inserts_; }
  void CountSamples(int64_t samples) { samples_ += samples; }
  // Changes the configuration and keeps the counts. A new ratio counts from now on. The difference keeps its distance
  // from the middle of its bounds, limited to the new bounds. If there was no ratio, it starts in the middle.
  void Reconfigure(const RateLimiterConfig& config, int64_t items);
  // Continues from another limiter's state.
  void Restore(int64_t inserts, int64_t samples, double carried) {
    inserts_ = inserts;
    samples_ = samples;
    carried_ = carried;
  }

  // The number that the configuration bounds: the samples that the inserts so far allow, less the samples made.
  double Difference() const;
  // The part of the difference that is left from earlier ratios.
  double carried() const { return carried_; }
  // Samples allowed before an insert, and inserts before a sample; infinite if there is no ratio.
  double SamplesAllowed() const;
  double InsertsAllowed(int64_t items) const;
  int64_t inserts() const { return inserts_; }
  int64_t samples() const { return samples_; }

  // FAILED_PRECONDITION, naming the setting, if inserts could be blocked before there are enough for such a batch.
  absl::Status CheckBatchSize(int64_t batch_size) const;

  // Explain what an insert or a batch waits for; empty if it need not wait.
  std::string WhyNoInsert(int64_t items) const;
  std::string WhyNoSample(int64_t items, int64_t batch_size) const;

 private:
  std::string Counts() const;
  double Difference(const RateLimiterConfig& config) const;
  // The difference's distance from the middle of its bounds when the table has min_items.
  double FromMiddle(const RateLimiterConfig& config, int64_t items) const;

  RateLimiterConfig config_;
  int64_t inserts_ = 0;
  int64_t samples_ = 0;
  double carried_ = 0;
};

}  // namespace waggle
