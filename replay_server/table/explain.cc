#include "replay_server/table/explain.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "replay_server/table/parties.h"

namespace waggle {
namespace {

using Kind = Requester::Kind;

std::string Number(double value) {
  return absl::StrFormat("%.12g", value);
}

int64_t CeilDivide(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

// A bound that is enough, and whole: people type it.
Remedy AtLeast(const std::string& setting, double value, double now) {
  const double whole = std::ceil(value);
  return {setting, Number(now), absl::StrCat(">= ", Number(whole)), whole, true};
}

Remedy AtMost(const std::string& setting, double value, double now) {
  const double whole = std::floor(value);
  return {setting, Number(now), absl::StrCat("<= ", Number(whole)), whole, true};
}

Remedy SmallerBatch(int64_t largest, int64_t now) {
  return {"batch_size", absl::StrCat(now), absl::StrCat("<= ", largest), static_cast<double>(largest), false};
}

// The rules applied to one picture.
class Explainer {
 public:
  Explainer(const TablePicture& picture, const ExplainOptions& options)
      : picture_(picture), config_(*picture.config), options_(options), limiter_(config_.rate_limiter) {
    limiter_.Restore(picture.inserts, picture.samples);
    if (!picture.first_samples.empty()) {
      batch_ = picture.first_samples.front().asked;
    }
  }

  Explanation Explain() {
    const bool samples = !picture_.first_samples.empty() && !MaySample(config_, limiter_, picture_.counts, batch_);
    const bool inserts =
        !picture_.first_inserts.empty() && !MayInsert(config_, limiter_, picture_.counts, batch_.items);
    // Of who looks it is not known what else they could do with.
    if (samples && !picture_.first_samples.front().looks && FindDeadlock()) {
      out_.verdict = Verdict::kDeadlock;
    } else if (inserts) {
      ExplainInserts();
    } else if (samples) {
      ExplainSamples();
    }
    if (out_.verdict != Verdict::kDeadlock) {
      out_.verdict = Stalled(inserts, samples) ? Verdict::kWaiting : Verdict::kFlowing;
    }
    Summarize(inserts, samples);
    ExplainEach(inserts, samples);
    ExplainDisk();
    ExplainSampleMemory();
    return std::move(out_);
  }

 private:
  double Samples() const { return static_cast<double>(batch_.counted); }
  double PerInsert() const { return config_.rate_limiter.samples_per_insert; }
  bool BoundsAreGiven() const { return config_.rate_limiter.max_difference.has_value(); }
  // What both bounds lie around where they are not given.
  double Middle() const { return static_cast<double>(config_.rate_limiter.min_items) * PerInsert(); }
  std::string BatchText() const {
    return absl::StrCat("a batch of ", batch_.items,
                        batch_.counted == batch_.items ? "" : absl::StrCat(", counted as ", batch_.counted, ","));
  }

  // Items that a table has to hold for the batch, whatever else holds.
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

  bool FindDeadlock() { return FindLargeBatch() || FindShortage() || FindTightLimiter(); }

  void Found(Cause cause, std::string why) {
    out_.cause = cause;
    why_ = std::move(why);
  }

  bool FindLargeBatch() {
    const int64_t needed = ItemsNeeded();
    if (needed <= config_.max_items) {
      return false;
    }
    std::string rule = absl::StrCat("min_items is ", config_.rate_limiter.min_items);
    if (config_.sampler.without_replacement && batch_.items == needed) {
      rule = absl::StrCat(BatchText(), " different ones (without_replacement) is asked for");
      out_.remedies.push_back(SmallerBatch(config_.max_items, batch_.items));
    } else if (config_.rate_limiter.min_items < needed) {
      rule = absl::StrCat(BatchText(), " is asked for, and each item may be drawn ", config_.max_times_sampled,
                          " times (max_times_sampled)");
      out_.remedies.push_back(SmallerBatch(config_.max_items * config_.max_times_sampled, batch_.items));
    }
    Found(Cause::kBatchTooLarge, absl::StrCat("samples wait for ", needed, " items, which there can never be: ", rule,
                                              ", and max_items is ", config_.max_items));
    out_.remedies.push_back(AtLeast("max_items", static_cast<double>(needed), static_cast<double>(config_.max_items)));
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
      Found(Cause::kServerMemoryFull,
            absl::StrCat(fits, "the tables of this server have ", picture_.server_bytes, " of ",
                         picture_.server_max_bytes, " bytes, so this one removes an item for each that comes"));
    } else {
      Found(Cause::kBytesTooFew,
            absl::StrCat(fits, "max_bytes, ", config_.max_bytes, ", removes items before there are as many"));
      // For as many of the size that they have now, and a tenth more: they come in whole blocks.
      const int64_t bytes = CeilDivide(picture_.bytes, std::max<int64_t>(1, picture_.counts.items)) * needed;
      out_.remedies.push_back(AtLeast("max_bytes", static_cast<double>(bytes + CeilDivide(bytes, 10)),
                                      static_cast<double>(config_.max_bytes)));
    }
    if (config_.rate_limiter.min_items > fit && fit > 0) {
      out_.remedies.push_back(AtMost("rate_limiter.min_items", static_cast<double>(fit),
                                     static_cast<double>(config_.rate_limiter.min_items)));
    } else if (config_.sampler.without_replacement && batch_.items > fit) {
      out_.remedies.push_back(SmallerBatch(fit, batch_.items));
    }
    if (shared) {
      out_.remedies.push_back({"the server's memory", absl::StrCat(picture_.server_max_bytes),
                               "more, or fewer or smaller tables", 0, false});
    }
    return true;
  }

  // The largest difference that inserts can lead to, as far as they are let in. Nothing else raises it.
  double LargestDifference() const {
    const auto free_inserts =
        static_cast<double>(std::max<int64_t>(0, config_.rate_limiter.min_items - picture_.counts.items));
    const double start = limiter_.Difference() + free_inserts * PerInsert();
    const double room = config_.rate_limiter.MaxDifference() - start;
    double inserts = std::max(0.0, std::floor(room / PerInsert()));
    while (start + (inserts + 1) * PerInsert() <= config_.rate_limiter.MaxDifference()) {
      ++inserts;  // Division has rounded.
    }
    return start + inserts * PerInsert();
  }

  // Inserts stop before there are enough for the batch. Where they are let in past the limiter for now, or the number
  // of items does not only grow, nothing is claimed.
  bool FindTightLimiter() {
    if (PerInsert() == 0 || BatchLacksItems(config_, picture_.counts, batch_.items) ||
        (picture_.counts.items < config_.rate_limiter.min_items && picture_.byte_shortage.has_value()) ||
        LargestDifference() - Samples() >= config_.rate_limiter.MinDifference()) {
      return false;
    }
    const double difference = limiter_.Difference();
    Found(Cause::kLimiterTooTight,
          absl::StrCat("inserts and samples block each other for ever: the difference is ", Number(difference),
                       "; inserts stop before it passes max_difference, ", Number(config_.rate_limiter.MaxDifference()),
                       ", ", BatchText(), " needs it to be ", Number(config_.rate_limiter.MinDifference() + Samples()),
                       ", and inserts take it to ", Number(LargestDifference()), " at most"));
    // What lets the inserts that the batch needs in.
    const double needed =
        std::max(0.0, std::ceil((config_.rate_limiter.MinDifference() + Samples() - difference) / PerInsert())) *
            PerInsert() +
        difference;
    if (BoundsAreGiven()) {
      out_.remedies.push_back(AtLeast("rate_limiter.max_difference", needed, *config_.rate_limiter.max_difference));
      out_.remedies.push_back(
          AtMost("rate_limiter.min_difference", LargestDifference() - Samples(), *config_.rate_limiter.min_difference));
    } else {
      // Wide enough for a batch and an insert, and around the present difference.
      const double wide = (PerInsert() + Samples()) / 2;
      const double reached = std::min(Middle() + Samples() - difference, difference + PerInsert() - Middle());
      out_.remedies.push_back(
          AtLeast("rate_limiter.error_buffer", std::max(wide, reached), config_.rate_limiter.error_buffer));
    }
    const double largest = LargestDifference() - config_.rate_limiter.MinDifference();
    if (largest >= 1) {
      out_.remedies.push_back(SmallerBatch(static_cast<int64_t>(std::floor(largest)), batch_.counted));
    }
    return true;
  }

  void ExplainInserts() {
    const bool anybody = Present(Kind::kSampler) || picture_.samples_waiting > 0;
    Found(anybody ? Cause::kSamplersSlow : Cause::kNobodySamples, limiter_.WhyNoInsert(picture_.counts.items));
    const double needed = limiter_.Difference() + PerInsert();
    if (needed > config_.rate_limiter.MaxDifference() + PerInsert()) {
      absl::StrAppend(&why_,
                      "; it lies far past that: the table was emptied since, or was filled under other settings");
    }
    if (BoundsAreGiven()) {
      out_.remedies.push_back(AtLeast("rate_limiter.max_difference", needed, *config_.rate_limiter.max_difference));
    } else {
      out_.remedies.push_back(
          AtLeast("rate_limiter.error_buffer", needed - Middle(), config_.rate_limiter.error_buffer));
    }
  }

  void ExplainSamples() {
    const RateLimiterConfig& limiter = config_.rate_limiter;
    const TableCounts& counts = picture_.counts;
    if (counts.items < limiter.min_items) {
      Found(Cause::kTooFewItems, limiter_.WhyNoSample(counts.items, batch_.counted));
      if (counts.items > 0) {
        out_.remedies.push_back(AtMost("rate_limiter.min_items", static_cast<double>(counts.items),
                                       static_cast<double>(limiter.min_items)));
      }
    } else if (!limiter_.CanSample(counts.items, batch_.counted)) {
      ExplainDifference();
    } else if (config_.max_times_sampled > 0 && counts.draws_left < batch_.items) {
      ExplainDraws();
    } else if (config_.sampler.without_replacement && counts.items < batch_.items) {
      Found(Cause::kTooFewDifferent,
            absl::StrCat("samples wait for ", batch_.items - counts.items, " more items: ", BatchText(),
                         " has different ones (without_replacement), there are ", counts.items));
      if (counts.items > 0) {
        out_.remedies.push_back(SmallerBatch(counts.items, batch_.items));
      }
    } else {
      Found(Cause::kTooFewItems, "samples wait for an item: there is none");
    }
    if (!Present(Kind::kWriter) && picture_.inserts_waiting == 0) {
      out_.cause = Cause::kNobodyWrites;
    }
  }

  // Samples need a difference that inserts will bring.
  void ExplainDifference() {
    const RateLimiterConfig& limiter = config_.rate_limiter;
    const double difference = limiter_.Difference();
    // Sampling never takes it there, and what inserts add can only be more.
    const bool other = picture_.samples > 0 && difference < limiter.MinDifference();
    Found(other ? Cause::kOtherCounts : Cause::kInsertsTooFew,
          limiter_.WhyNoSample(picture_.counts.items, batch_.counted));
    if (other) {
      absl::StrAppend(&why_,
                      "; it lies below already, where this configuration never leads: the inserts and samples "
                      "were counted under another one");
    }
    if (limiter.min_difference.has_value()) {
      out_.remedies.push_back(AtMost("rate_limiter.min_difference", difference - Samples(), *limiter.min_difference));
    } else {
      out_.remedies.push_back(
          AtLeast("rate_limiter.error_buffer", Middle() + Samples() - difference, limiter.error_buffer));
    }
    const double allowed = difference - limiter.MinDifference();
    if (allowed >= 1) {
      out_.remedies.push_back(SmallerBatch(static_cast<int64_t>(std::floor(allowed)), batch_.counted));
    }
  }

  void ExplainDraws() {
    const TableCounts& counts = picture_.counts;
    Found(Cause::kDrawsUsedUp, absl::StrCat("samples wait for more items: those that there are may be drawn ",
                                            counts.draws_left, " more times (max_times_sampled is ",
                                            config_.max_times_sampled, "), ", BatchText(), " is asked for"));
    if (counts.items > 0) {
      const int64_t more = CeilDivide(batch_.items - counts.draws_left, counts.items);
      out_.remedies.push_back(AtLeast("max_times_sampled", static_cast<double>(config_.max_times_sampled + more),
                                      static_cast<double>(config_.max_times_sampled)));
    }
    if (counts.draws_left > 0) {
      out_.remedies.push_back(SmallerBatch(counts.draws_left, batch_.items));
    }
  }

  bool Present(Kind kind) const {
    return std::any_of(picture_.parties.begin(), picture_.parties.end(),
                       [kind](const TablePicture::Party& party) { return party.kind == kind && party.present; });
  }

  // Since when the table has not gone on for those who wait first, as long as they have waited.
  absl::Duration StalledFor(const std::vector<TablePicture::Wait>& waits, Kind kind) const {
    return std::min(waits.front().waited, picture_.Last(kind).ago);
  }

  bool Stalled(bool inserts, bool samples) const {
    return (inserts && StalledFor(picture_.first_inserts, Kind::kWriter) >= options_.patience) ||
           (samples && StalledFor(picture_.first_samples, Kind::kSampler) >= options_.patience);
  }

  void Summarize(bool inserts, bool samples) {
    if (!inserts && !samples) {
      out_.summary = absl::StrCat("nobody waits; ", picture_.counts.items, " of ", config_.max_items, " items");
      return;
    }
    // A deadlock is told from the batch; otherwise the first that is blocked was explained.
    const bool by_samples = samples && (out_.verdict == Verdict::kDeadlock || !inserts);
    const Kind other = by_samples ? Kind::kWriter : Kind::kSampler;
    out_.who_could = DescribeParties(picture_, other);
    if (out_.verdict == Verdict::kFlowing) {
      out_.summary = absl::StrCat("goes on; at the moment ", why_);
      return;
    }
    const absl::Duration waited =
        by_samples ? picture_.first_samples.front().waited : picture_.first_inserts.front().waited;
    const char* nobody = "";
    if (out_.cause == Cause::kNobodyWrites) {
      nobody = picture_.inserts == 0 ? "nobody writes, and nobody ever did: " : "nobody writes: ";
    } else if (out_.cause == Cause::kNobodySamples) {
      nobody = picture_.samples == 0 ? "nobody samples, and nobody ever did: " : "nobody samples: ";
    }
    out_.summary = absl::StrCat("for ", SecondsText(waited), ": ", nobody, why_);
  }

  // Where both are blocked, that is a deadlock, and it was explained from the batch.
  void ExplainEach(bool inserts, bool samples) {
    const std::string no_insert = inserts ? limiter_.WhyNoInsert(picture_.counts.items) : "is about to go on";
    for (size_t i = 0; i < picture_.first_inserts.size(); ++i) {
      out_.why_inserts.push_back(i == 0 ? no_insert : "waits for its turn");
    }
    for (size_t i = 0; i < picture_.first_samples.size(); ++i) {
      out_.why_samples.push_back(WhySample(i, samples));
    }
  }

  std::string WhySample(size_t i, bool blocked) const {
    if (i == 0 && blocked) {
      return why_;
    }
    if (picture_.first_samples[i].looks) {
      return blocked ? "looks whether it may have a batch of several servers"
                     : "this server would give its part of a batch; another one does not yet";
    }
    return i > 0 ? "waits for its turn" : "is about to go on";
  }

  // Whoever inserts waits for it, though no limiter makes them.
  void ExplainDisk() {
    if (picture_.tier.status.ok() || out_.verdict == Verdict::kDeadlock) {
      return;
    }
    out_.verdict = Verdict::kWaiting;
    out_.cause = Cause::kDiskRefuses;
    out_.summary = absl::StrCat(WhyTierWaits(picture_.tier), "; ", out_.summary);
  }

  // Batches that are drawn already: the table waits for nobody, and their samplers do.
  void ExplainSampleMemory() {
    const SampleMemory& memory = picture_.sample_memory;
    if (memory.waiting == 0 || memory.waited < options_.patience || out_.verdict == Verdict::kDeadlock) {
      return;
    }
    out_.summary = absl::StrCat(
        "for ", SecondsText(memory.waited), ": ", memory.who, " waits for batches: ", WhyBatchesWait(memory),
        out_.verdict == Verdict::kWaiting ? "; " : "", out_.verdict == Verdict::kWaiting ? out_.summary : "");
    out_.verdict = Verdict::kWaiting;
    out_.cause = Cause::kSampleMemoryFull;
    out_.who_could = "the samplers that have it, when they read; the streams of those that do not are ended in time";
    out_.remedies.insert(out_.remedies.begin(), Remedy{"the server's memory", absl::StrCat(memory.limit),
                                                       "more (--memory-bytes), or smaller batches", 0, false});
  }

  const TablePicture& picture_;
  const TableConfig& config_;
  const ExplainOptions options_;
  RateLimiter limiter_;
  DrawRequest batch_;
  std::string why_;
  Explanation out_;
};

}  // namespace

absl::string_view Name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFlowing:
      return "flowing";
    case Verdict::kWaiting:
      return "waiting";
    case Verdict::kDeadlock:
      return "deadlock";
  }
  return "unknown";
}

absl::string_view Name(Cause cause) {
  switch (cause) {
    case Cause::kNone:
      return "none";
    case Cause::kNobodySamples:
      return "nobody_samples";
    case Cause::kSamplersSlow:
      return "samplers_slow";
    case Cause::kNobodyWrites:
      return "nobody_writes";
    case Cause::kTooFewItems:
      return "too_few_items";
    case Cause::kInsertsTooFew:
      return "inserts_too_few";
    case Cause::kOtherCounts:
      return "other_counts";
    case Cause::kDrawsUsedUp:
      return "draws_used_up";
    case Cause::kTooFewDifferent:
      return "too_few_different";
    case Cause::kLimiterTooTight:
      return "limiter_too_tight";
    case Cause::kBatchTooLarge:
      return "batch_too_large";
    case Cause::kBytesTooFew:
      return "bytes_too_few";
    case Cause::kServerMemoryFull:
      return "server_memory_full";
    case Cause::kDiskRefuses:
      return "disk_refuses";
    case Cause::kSampleMemoryFull:
      return "sample_memory_full";
  }
  return "unknown";
}

Explanation Explain(const TablePicture& picture, const ExplainOptions& options) {
  return Explainer(picture, options).Explain();
}

}  // namespace waggle
