#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "replay_server/diagnose/explain.h"
#include "replay_server/items/rate_limiter.h"
#include "replay_server/table/table_picture.h"

// What the parts of Explain share: each tells one kind of stall from the same numbers.

namespace waggle {

// Why the one who waits first cannot go on, and what would free them.
struct Finding {
  Cause cause = Cause::kNone;
  std::string why;  // "samples wait for 3 more items: …".
  std::vector<Remedy> remedies;
};

// A picture as the rules see it: with its rate limiter, and a batch that is waited for, the first one unless another is
// wanted. The picture outlives it. Constant.
class Stall {
 public:
  explicit Stall(const TablePicture& picture, size_t sample = 0);

  const TablePicture& picture() const { return picture_; }
  const TableConfig& config() const { return *picture_.config; }
  const RateLimiter& limiter() const { return limiter_; }
  const DrawRequest& batch() const { return batch_; }  // Of no items where nobody waits for one.

  double samples() const { return static_cast<double>(batch_.counted); }
  double per_insert() const { return config().rate_limiter.samples_per_insert; }
  bool bounds_are_given() const { return config().rate_limiter.max_difference.has_value(); }
  // What both bounds lie around where they are not given.
  double middle() const { return static_cast<double>(config().rate_limiter.min_items) * per_insert(); }
  // "a batch of 8, counted as 101,".
  std::string BatchText() const;
  bool Present(Requester::Kind kind) const;

 private:
  const TablePicture& picture_;
  RateLimiter limiter_;
  DrawRequest batch_;
};

// "12.5": a number as people type it.
std::string DigitsText(double value);
// a / b, rounded up; both are positive.
int64_t CeilDivide(int64_t a, int64_t b);

// A bound on a setting that is enough, and whole: people type it.
Remedy AtLeast(const std::string& setting, double value, double now);
Remedy AtMost(const std::string& setting, double value, double now);
Remedy SmallerBatch(int64_t largest, int64_t now);

// What keeps people waiting, or is wrong, whatever the rate limiter says: it is told first.
struct Beside {
  Verdict verdict = Verdict::kFlowing;
  Finding finding;        // `why` is what the summary begins with.
  std::string who_could;  // Who could end it, in words; empty where nobody waits.
};

}  // namespace waggle
