#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "replay_server/diagnose/explain_stall.h"

namespace waggle {
namespace {

class DeadlockFinder {
 public:
  explicit DeadlockFinder(const Stall& stall) : stall_(stall) {}

  std::optional<Explanation> Find() {
    if (FindLargeBatch() || FindShortage() || FindTightLimiter()) {
      return std::move(found_);
    }
    return std::nullopt;
  }

 private:
  // Items that a table must hold for the batch at least.
  int64_t ItemsNeeded() const {
    int64_t needed = std::max<int64_t>(config_.rate_limiter.min_items, batch_.items > 0 ? 1 : 0);
    if (config_.sampler.without_replacement) {
      needed = std::max(needed, batch_.items);
    }
    if (config_.max_times_sampled > 0) {
      needed = std::max(needed, CeilDivide(batch_.items, config_.max_times_sampled));
    }
    return needed;
  }

  bool FindLargeBatch() {
    const int64_t needed = ItemsNeeded();
    if (needed <= config_.max_items) {
      return false;
    }
    std::string rule = absl::StrCat("min_items is ", config_.rate_limiter.min_items);
    if (config_.sampler.without_replacement && batch_.items == needed) {
      rule = absl::StrCat(stall_.BatchText(), " different items (without_replacement) was requested");
      AddSmallerBatch(config_.max_items, batch_.items, &found_);
    } else if (config_.rate_limiter.min_items < needed) {
      rule = absl::StrCat(stall_.BatchText(), " was requested, and each item may be drawn ", config_.max_times_sampled,
                          " times (max_times_sampled)");
      AddSmallerBatch(config_.max_items * config_.max_times_sampled, batch_.items, &found_);
    }
    Found(causes::kBatchTooLarge, absl::StrCat("samples wait for ", needed, " items, more than the table can give: ",
                                               rule, ", and max_items is ", config_.max_items));
    AddAtLeast("max_items", static_cast<double>(needed), static_cast<double>(config_.max_items), &found_);
    return true;
  }

  // Items leave for their bytes before there are enough for the batch.
  bool FindShortage() {
    const int64_t needed = ItemsNeeded();
    if (!picture_.byte_shortage.has_value() || picture_.byte_shortage->items >= needed ||
        picture_.counts.items >= needed) {
      return false;
    }
    const int64_t fit = picture_.byte_shortage->items;
    const bool shared = picture_.byte_shortage->shared_memory;
    const std::string fits = absl::StrCat("samples wait for ", needed, " items, and only about ", fit, " fit: ");
    if (shared) {
      Found(causes::kServerMemoryFull,
            absl::StrCat(fits, "the tables of this server have ", picture_.server_bytes, " of ",
                         picture_.server_max_bytes, " bytes, so this one removes an item for each that comes"));
    } else {
      Found(causes::kBytesTooFew,
            absl::StrCat(fits, "max_bytes, ", config_.max_bytes, ", removes items before there are enough"));
      // Enough for the needed items at the present mean size, and a tenth more: they come in whole blocks.
      const int64_t bytes = CeilDivide(picture_.bytes, std::max<int64_t>(1, picture_.counts.items)) * needed;
      AddAtLeast("max_bytes", static_cast<double>(bytes + CeilDivide(bytes, 10)),
                 static_cast<double>(config_.max_bytes), &found_);
    }
    if (config_.rate_limiter.min_items > fit && fit > 0) {
      AddAtMost("rate_limiter.min_items", static_cast<double>(fit), static_cast<double>(config_.rate_limiter.min_items),
                &found_);
    } else if (config_.sampler.without_replacement && batch_.items > fit) {
      AddSmallerBatch(fit, batch_.items, &found_);
    }
    if (shared) {
      AddInWords("memory of the server", absl::StrCat(picture_.server_max_bytes), "more, or fewer or smaller tables",
                 &found_);
    }
    return true;
  }

  // The largest difference that inserts can lead to, as far as they are let in. Nothing else raises it.
  double LargestDifference() const {
    const auto free_inserts =
        static_cast<double>(std::max<int64_t>(0, config_.rate_limiter.min_items - picture_.counts.items));
    const double start = limiter_.Difference() + free_inserts * stall_.per_insert();
    const double room = config_.rate_limiter.MaxDifference() - start;
    double inserts = std::max(0.0, std::floor(room / stall_.per_insert()));
    while (start + (inserts + 1) * stall_.per_insert() <= config_.rate_limiter.MaxDifference()) {
      ++inserts;  // Division has rounded.
    }
    return start + inserts * stall_.per_insert();
  }

  // Inserts stop before there are enough for the batch. Claims nothing while inserts pass the limiter, or while items
  // leave for their bytes.
  bool FindTightLimiter() {
    if (stall_.per_insert() == 0 || BatchLacksItems(config_, picture_.counts, batch_.items) ||
        (picture_.counts.items < config_.rate_limiter.min_items && picture_.byte_shortage.has_value()) ||
        LargestDifference() - stall_.samples() >= config_.rate_limiter.MinDifference()) {
      return false;
    }
    const double difference = limiter_.Difference();
    Found(causes::kLimiterTooTight,
          absl::StrCat("inserts and samples block each other for ever: the difference is ", DigitsText(difference),
                       "; inserts stop before it passes max_difference, ",
                       DigitsText(config_.rate_limiter.MaxDifference()), ", ", stall_.BatchText(), " needs it to be ",
                       DigitsText(config_.rate_limiter.MinDifference() + stall_.samples()), ", and inserts take it to ",
                       DigitsText(LargestDifference()), " at most"));
    // The difference that lets in the inserts that the batch needs.
    const double needed =
        std::max(0.0, std::ceil((config_.rate_limiter.MinDifference() + stall_.samples() - difference) /
                                stall_.per_insert())) *
            stall_.per_insert() +
        difference;
    if (stall_.bounds_are_given()) {
      AddAtLeast("rate_limiter.max_difference", needed, *config_.rate_limiter.max_difference, &found_);
      AddAtMost("rate_limiter.min_difference", LargestDifference() - stall_.samples(),
                *config_.rate_limiter.min_difference, &found_);
    } else {
      // Wide enough for a batch and an insert, and around the present difference.
      const double wide = (stall_.per_insert() + stall_.samples()) / 2;
      const double reached =
          std::min(stall_.middle() + stall_.samples() - difference, difference + stall_.per_insert() - stall_.middle());
      AddAtLeast("rate_limiter.error_buffer", std::max(wide, reached), config_.rate_limiter.error_buffer, &found_);
    }
    const double largest = LargestDifference() - config_.rate_limiter.MinDifference();
    if (largest >= 1) {
      AddSmallerBatch(static_cast<int64_t>(std::floor(largest)), batch_.counted, &found_);
    }
    return true;
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

std::optional<Explanation> FindDeadlock(const Stall& stall) {
  return DeadlockFinder(stall).Find();
}

}  // namespace waggle
