#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "common/table_config/table_config.h"

namespace waggle {

// Decides when items may be inserted and sampled, so that the ratio of samples to inserts stays near what was asked
// for. waggle.v1.RateLimiterConfig states the rule. A pure function of counts; not thread-safe.
class RateLimiter {
 public:
  // The configuration is valid.
  explicit RateLimiter(const RateLimiterConfig& config) : config_(config) {}

  // `items` is how many the table holds. A batch that counts nothing only needs min_items.
  bool CanInsert(int64_t items) const;
  bool CanSample(int64_t items, int64_t batch_size) const;

  void CountInsert() { ++inserts_; }
  void CountSamples(int64_t samples) { samples_ += samples; }
  // What was counted stays. Another ratio holds from now on, and bounds around another min_items move the difference
  // with them: it is as far from their middle as it was, within them, and neither side owes the other more than they
  // allow. Where no ratio was kept it begins in the middle. The table holds `items`.
  void Reconfigure(const RateLimiterConfig& config, int64_t items);
  // Goes on from where another one was.
  void Restore(int64_t inserts, int64_t samples, double carried) {
    inserts_ = inserts;
    samples_ = samples;
    carried_ = carried;
  }

  // What the configuration holds within bounds: how many samples the inserts so far are good for, less those made.
  double Difference() const;
  // What of the difference does not come of the counts at the present ratio, because the ratio was another one before.
  double carried() const { return carried_; }
  // How many samples there may be before an insert, and inserts before a sample; infinite where no ratio is kept.
  double SamplesAllowed() const;
  double InsertsAllowed(int64_t items) const;
  int64_t inserts() const { return inserts_; }
  int64_t samples() const { return samples_; }

  // FAILED_PRECONDITION if a batch of this size might never be allowed, because inserts could be blocked before enough
  // have come for it; says which setting is too small.
  absl::Status CheckBatchSize(int64_t batch_size) const;

  // In words, what an insert, or a batch, waits for; empty where it may go on.
  std::string WhyNoInsert(int64_t items) const;
  std::string WhyNoSample(int64_t items, int64_t batch_size) const;

 private:
  std::string Counts() const;
  double Difference(const RateLimiterConfig& config) const;
  // How far the difference is past the middle of its bounds once the table holds min_items.
  double FromMiddle(const RateLimiterConfig& config, int64_t items) const;

  RateLimiterConfig config_;
  int64_t inserts_ = 0;
  int64_t samples_ = 0;
  double carried_ = 0;
};

}  // namespace waggle
