#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "replay_server/diagnose/explain_stall.h"

namespace waggle {
namespace {

class LimiterExplainer {
 public:
  explicit LimiterExplainer(const Stall& stall) : stall_(stall) {}

  Explanation Inserts() {
    const bool anybody = stall_.Present(TableClient::Kind::kSampler) || picture_.samples_waiting > 0;
    Found(anybody ? causes::kSamplersSlow : causes::kNobodySamples, limiter_.WhyNoInsert(picture_.counts.items));
    const double needed = limiter_.Difference() + stall_.per_insert();
    if (needed > config_.rate_limiter.MaxDifference() + stall_.per_insert()) {
      absl::StrAppend(
          found_.mutable_summary(),
          "; the difference is far past that: the table was emptied since, or was filled under other settings");
    }
    if (stall_.bounds_are_given()) {
      AddAtLeast("rate_limiter.max_difference", needed, *config_.rate_limiter.max_difference, &found_);
    } else {
      AddAtLeast("rate_limiter.error_buffer", needed - stall_.middle(), config_.rate_limiter.error_buffer, &found_);
    }
    return std::move(found_);
  }

  Explanation Samples() {
    const RateLimiterConfig& limiter = config_.rate_limiter;
    const TableCounts& counts = picture_.counts;
    if (counts.items < limiter.min_items) {
      Found(causes::kTooFewItems, limiter_.WhyNoSample(counts.items, batch_.counted));
      if (counts.items > 0) {
        AddAtMost("rate_limiter.min_items", static_cast<double>(counts.items), static_cast<double>(limiter.min_items),
                  &found_);
      }
    } else if (!limiter_.CanSample(counts.items, batch_.counted)) {
      ExplainDifference();
    } else if (config_.max_times_sampled > 0 && counts.draws_left < batch_.items) {
      ExplainDraws();
    } else if (config_.sampler.without_replacement && counts.items < batch_.items) {
      Found(causes::kTooFewDifferent,
            absl::StrCat("samples wait for ", batch_.items - counts.items, " more items: ", stall_.BatchText(),
                         " has different items (without_replacement), there are ", counts.items));
      if (counts.items > 0) {
        AddSmallerBatch(counts.items, batch_.items, &found_);
      }
    } else {
      Found(causes::kTooFewItems, "samples wait for an item: the table is empty");
    }
    if (!stall_.Present(TableClient::Kind::kWriter) && picture_.inserts_waiting == 0) {
      found_.set_cause(causes::kNobodyWrites);
    }
    return std::move(found_);
  }

 private:
  // Samples need a difference that inserts will bring.
  void ExplainDifference() {
    const RateLimiterConfig& limiter = config_.rate_limiter;
    const double difference = limiter_.Difference();
    // Under this configuration neither sampling nor inserting leads there.
    const bool other = picture_.samples > 0 && difference < limiter.MinDifference();
    Found(other ? causes::kOtherCounts : causes::kInsertsTooFew,
          limiter_.WhyNoSample(picture_.counts.items, batch_.counted));
    if (other) {
      absl::StrAppend(found_.mutable_summary(),
                      "; the difference is below that, where this configuration never leads: the inserts and samples "
                      "were counted under another one");
    }
    if (limiter.min_difference.has_value()) {
      AddAtMost("rate_limiter.min_difference", difference - stall_.samples(), *limiter.min_difference, &found_);
    } else {
      AddAtLeast("rate_limiter.error_buffer", stall_.middle() + stall_.samples() - difference, limiter.error_buffer,
                 &found_);
    }
    const double allowed = difference - limiter.MinDifference();
    if (allowed >= 1) {
      AddSmallerBatch(static_cast<int64_t>(std::floor(allowed)), batch_.counted, &found_);
    }
  }

  void ExplainDraws() {
    const TableCounts& counts = picture_.counts;
    Found(causes::kDrawsUsedUp, absl::StrCat("samples wait for more items: the present items may be drawn ",
                                             counts.draws_left, " more times (max_times_sampled is ",
                                             config_.max_times_sampled, "), ", stall_.BatchText(), " was requested"));
    if (counts.items > 0) {
      const int64_t more = CeilDivide(batch_.items - counts.draws_left, counts.items);
      AddAtLeast("max_times_sampled", static_cast<double>(config_.max_times_sampled + more),
                 static_cast<double>(config_.max_times_sampled), &found_);
    }
    if (counts.draws_left > 0) {
      AddSmallerBatch(counts.draws_left, batch_.items, &found_);
    }
  }

  void Found(const char* cause, std::string why) {
    found_.set_cause(cause);
    found_.set_summary(std::move(why));
  }

  const Stall& stall_;
  const TablePicture& picture_ = stall_.picture();
  const TableConfig& config_ = stall_.config();
  const RateLimiter& limiter_ = stall_.limiter();
  const DrawRequest& batch_ = stall_.batch();
  Explanation found_;
};

}  // namespace

Explanation ExplainInserts(const Stall& stall) {
  return LimiterExplainer(stall).Inserts();
}

Explanation ExplainSamples(const Stall& stall) {
  return LimiterExplainer(stall).Samples();
}

}  // namespace waggle
