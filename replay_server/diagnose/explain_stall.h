#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "replay_server/diagnose/explain.h"
#include "replay_server/items/rate_limiter.h"
#include "replay_server/table/table_picture.h"

// The parts of Explain: each explains one kind of stall from the same numbers. The findings have a cause, the reason as
// their summary, and remedies.

namespace waggle {

using Explanation = v1::TableExplanation;

// A picture with its rate limiter and one of its waiting batches, by default the first. The picture must outlive it.
// Constant.
class Stall {
 public:
  explicit Stall(const TablePicture& picture, size_t sample = 0);

  const TablePicture& picture() const { return picture_; }
  const TableConfig& config() const { return *picture_.config; }
  const RateLimiter& limiter() const { return limiter_; }
  const DrawRequest& batch() const { return batch_; }  // Has no items if no batch waits.

  double samples() const { return static_cast<double>(batch_.counted); }
  double per_insert() const { return config().rate_limiter.samples_per_insert; }
  bool bounds_are_given() const { return config().rate_limiter.max_difference.has_value(); }
  // The middle between the limiter's bounds if they are not given.
  double middle() const { return static_cast<double>(config().rate_limiter.min_items) * per_insert(); }
  // "a batch of 8, counted as 101,".
  std::string BatchText() const;
  bool Present(TableClient::Kind kind) const;

 private:
  const TablePicture& picture_;
  RateLimiter limiter_;
  DrawRequest batch_;
};

// "12.5": a number as people type it.
std::string DigitsText(double value);
// a / b, rounded up; both are positive.
int64_t CeilDivide(int64_t a, int64_t b);

// A sufficient bound on a setting, whole, because people type it.
void AddAtLeast(const std::string& setting, double value, double now, Explanation* finding);
void AddAtMost(const std::string& setting, double value, double now, Explanation* finding);
void AddSmallerBatch(int64_t largest, int64_t now, Explanation* finding);
// A remedy that is not a setting: "room in DIR", "none", "more".
void AddInWords(const std::string& subject, const std::string& now, const std::string& change, Explanation* finding);

// Returns nothing unless the first waiting batch can never come until a setting changes. Call it only if a batch waits.
std::optional<Explanation> FindDeadlock(const Stall& stall);

// Explain why the first waiting insert or batch must wait. Call them only if it waits, without a deadlock.
Explanation ExplainInserts(const Stall& stall);
Explanation ExplainSamples(const Stall& stall);

// Waits and problems beside the rate limiter, with a verdict if requests wait, and with the clients that could end it.
// The disk refuses the table's data or is slow, or checkpoints fail.
std::optional<Explanation> ExplainDisk(const TablePicture& picture, const ExplainOptions& options);
// Drawn batches wait for the memory that all batches on their way share.
std::optional<Explanation> ExplainSampleMemory(const TablePicture& picture, const ExplainOptions& options);

}  // namespace waggle
