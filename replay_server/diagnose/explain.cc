#include "replay_server/diagnose/explain.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "replay_server/diagnose/explain_deadlock.h"
#include "replay_server/diagnose/explain_disk.h"
#include "replay_server/diagnose/explain_limiter.h"
#include "replay_server/diagnose/explain_memory.h"
#include "replay_server/table/parties.h"

namespace waggle {
namespace {

using Kind = Requester::Kind;

// The rules applied to one picture.
class Explainer {
 public:
  Explainer(const TablePicture& picture, const ExplainOptions& options)
      : picture_(picture), options_(options), stall_(picture) {
    const TableConfig& config = stall_.config();
    samples_blocked_ =
        !picture.first_samples.empty() && !MaySample(config, stall_.limiter(), picture.counts, stall_.batch());
    // As the table does: inserts are not let through for a batch that it can never serve.
    const int64_t most_items = picture.byte_shortage.has_value() ? picture.byte_shortage->items : config.max_items;
    const int64_t batch = stall_.batch().items > LargestBatch(config, most_items) ? 0 : stall_.batch().items;
    inserts_blocked_ = !picture.first_inserts.empty() && !MayInsert(config, stall_.limiter(), picture.counts, batch);
  }

  Explanation Explain() {
    std::optional<Beside> disk = ExplainDisk(picture_, options_);
    if (ExplainDeadlock()) {
      // That the disk takes what is to be kept would not end it.
      beside_.finding.why = disk.has_value() ? std::move(disk->finding.why) : "";
    } else {
      ExplainLimiter();
      // What people wait for beside the limiter: one of two, where both are, and what they wait for rather than what is
      // wrong.
      std::optional<Beside> memory = ExplainSampleMemory(picture_, options_);
      Tell(memory.has_value() && (!disk.has_value() || disk->verdict == Verdict::kFlowing) ? std::move(memory)
                                                                                           : std::move(disk));
    }
    Summarize();
    ExplainEach();
    return std::move(out_);
  }

 private:
  bool ExplainDeadlock() {
    // Of who looks it is not known what else they could do with.
    if (!samples_blocked_ || picture_.first_samples.front().looks) {
      return false;
    }
    std::optional<Finding> deadlock = FindDeadlock(stall_);
    if (!deadlock.has_value()) {
      return false;
    }
    out_.verdict = Verdict::kDeadlock;
    Found(*std::move(deadlock));
    return true;
  }

  void ExplainLimiter() {
    if (inserts_blocked_) {
      Found(ExplainInserts(stall_));
    } else if (samples_blocked_) {
      Found(ExplainSamples(stall_));
    }
    out_.verdict = Stalled() ? Verdict::kWaiting : Verdict::kFlowing;
  }

  void Found(Finding finding) {
    out_.cause = limiter_cause_ = finding.cause;
    why_ = std::move(finding.why);
    out_.remedies = std::move(finding.remedies);
    if (inserts_blocked_ || samples_blocked_) {
      out_.who_could = DescribeParties(picture_, BySamples() ? Kind::kWriter : Kind::kSampler);
    }
  }

  void Tell(std::optional<Beside> story) {
    if (!story.has_value()) {
      return;
    }
    beside_ = *std::move(story);
    if (beside_.verdict == Verdict::kFlowing && out_.verdict != Verdict::kFlowing) {
      return;  // Those who wait do for another reason.
    }
    out_.verdict = beside_.verdict;
    out_.cause = beside_.finding.cause;
    out_.who_could = beside_.who_could.empty() ? out_.who_could : beside_.who_could;
    out_.remedies.insert(out_.remedies.begin(), beside_.finding.remedies.begin(), beside_.finding.remedies.end());
  }

  // A deadlock is told from the batch; otherwise the first that is blocked was explained.
  bool BySamples() const { return samples_blocked_ && (out_.verdict == Verdict::kDeadlock || !inserts_blocked_); }

  // Since when the table has not gone on for those who wait first, as long as they have waited.
  absl::Duration InsertsStalledFor() const {
    return std::min(picture_.first_inserts.front().waited, picture_.Last(Kind::kWriter).ago);
  }
  // Samplers that want something else may go on meanwhile.
  absl::Duration SamplesStalledFor() const {
    absl::Duration stalled = picture_.first_samples.front().waited;
    for (const TablePicture::Party& party : picture_.parties) {
      const bool alike = std::any_of(
          picture_.first_samples.begin(), picture_.first_samples.end(),
          [&](const TablePicture::Wait& wait) { return wait.who == party.name && Alike(wait.asked, stall_.batch()); });
      stalled = party.kind == Kind::kSampler && alike ? std::min(stalled, party.active_ago) : stalled;
    }
    return stalled;
  }

  bool Stalled() const {
    return (inserts_blocked_ && InsertsStalledFor() >= options_.patience) ||
           (samples_blocked_ && SamplesStalledFor() >= options_.patience);
  }

  // What people wait for comes first.
  void Summarize() {
    const std::string& beside = beside_.finding.why;
    const bool beside_first = beside_.verdict != Verdict::kFlowing || out_.verdict == Verdict::kFlowing;
    const std::string limiter = LimiterSummary();
    out_.summary = beside.empty() ? limiter
                   : beside_first ? absl::StrCat(beside, "; ", limiter)
                                  : absl::StrCat(limiter, "; ", beside);
  }

  std::string LimiterSummary() const {
    if (!inserts_blocked_ && !samples_blocked_) {
      return absl::StrCat(out_.verdict == Verdict::kFlowing ? "nobody waits; " : "", picture_.counts.items, " of ",
                          stall_.config().max_items, " items");
    }
    if (out_.verdict != Verdict::kDeadlock && !Stalled()) {
      return absl::StrCat(beside_.verdict == Verdict::kFlowing ? "goes on; " : "", "at the moment ", why_);
    }
    const absl::Duration waited =
        BySamples() ? picture_.first_samples.front().waited : picture_.first_inserts.front().waited;
    const char* nobody = "";
    if (limiter_cause_ == Cause::kNobodyWrites) {
      nobody = picture_.inserts == 0 ? "nobody writes, and nobody ever did: " : "nobody writes: ";
    } else if (limiter_cause_ == Cause::kNobodySamples) {
      nobody = picture_.samples == 0 ? "nobody samples, and nobody ever did: " : "nobody samples: ";
    }
    return absl::StrCat("for ", SecondsText(waited), ": ", nobody, why_);
  }

  // Where both are blocked, that is a deadlock, and it was explained from the batch; or the batch is of one who looks.
  void ExplainEach() {
    const std::string no_insert =
        inserts_blocked_ ? stall_.limiter().WhyNoInsert(picture_.counts.items) : "is about to go on";
    for (size_t i = 0; i < picture_.first_inserts.size(); ++i) {
      out_.why_inserts.push_back(i == 0 ? no_insert : "waits for its turn");
    }
    for (size_t i = 0; i < picture_.first_samples.size(); ++i) {
      out_.why_samples.push_back(WhySample(i));
    }
  }

  std::string WhySample(size_t i) const {
    if (i == 0 && samples_blocked_) {
      return BySamples() ? why_ : ExplainSamples(stall_).why;
    }
    if (picture_.first_samples[i].looks) {
      return samples_blocked_ ? "looks whether it may have a batch of several servers"
                              : "this server would give its part of a batch; another one does not yet";
    }
    if (i == 0) {
      return "is about to go on";
    }
    const DrawRequest& asked = picture_.first_samples[i].asked;
    if (std::any_of(picture_.first_samples.begin(), picture_.first_samples.begin() + static_cast<std::ptrdiff_t>(i),
                    [&asked](const TablePicture::Wait& wait) { return Alike(wait.asked, asked); })) {
      return "waits for its turn";
    }
    const Stall own(picture_, i);
    return MaySample(own.config(), own.limiter(), picture_.counts, asked)
               ? "is about to go on, or waits for what is not set aside for the first one"
               : ExplainSamples(own).why;
  }

  static bool Alike(const DrawRequest& a, const DrawRequest& b) { return a.items == b.items && a.counted == b.counted; }

  const TablePicture& picture_;
  const ExplainOptions options_;
  const Stall stall_;
  bool samples_blocked_ = false;
  bool inserts_blocked_ = false;
  Cause limiter_cause_ = Cause::kNone;  // Of who waits first for the limiter, and why, in words.
  std::string why_;
  Beside beside_;  // Nothing where all of it is the limiter's.
  Explanation out_;
};

}  // namespace

Explanation Explain(const TablePicture& picture, const ExplainOptions& options) {
  return Explainer(picture, options).Explain();
}

}  // namespace waggle
