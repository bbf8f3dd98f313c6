#include "replay_server/diagnose/explain.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/replay/table_config_convert.h"
#include "replay_server/diagnose/describe.h"
#include "replay_server/diagnose/explain_stall.h"
#include "replay_server/table/client_words.h"

namespace waggle {
namespace {

using Kind = TableClient::Kind;

bool Waits(const Explanation& explanation) {
  return explanation.verdict() > Explanation::VERDICT_FLOWING;
}

void AddWait(v1::Wait::Kind kind, const TablePicture::Wait& waiting, const std::string& why, Explanation* out) {
  v1::Wait* wait = out->add_waits();
  wait->set_kind(kind);
  wait->set_who(waiting.who);
  wait->set_connected(waiting.present);
  wait->set_items(static_cast<uint64_t>(waiting.asked.items));
  wait->set_counted(static_cast<uint64_t>(waiting.asked.counted));
  wait->set_seconds(absl::ToDoubleSeconds(waiting.waited));
  wait->set_why(why);
}

void AddParty(const TablePicture::Party& party, Explanation* out) {
  v1::Party* added = out->add_parties();
  added->set_kind(party.kind == Kind::kWriter ? v1::Party::KIND_WRITER : v1::Party::KIND_SAMPLER);
  added->set_name(party.name);
  added->set_connected(party.present);
  added->set_items(static_cast<uint64_t>(party.items));
  if (party.active_ago < absl::InfiniteDuration()) {
    added->set_active_ago(absl::ToDoubleSeconds(party.active_ago));
  }
  if (!party.present && party.left_ago < absl::InfiniteDuration()) {
    added->set_left_ago(absl::ToDoubleSeconds(party.left_ago));
  }
  added->set_waits_at(party.waits_at);
}

// The picture's own numbers.
Explanation Numbers(const TablePicture& picture, const RateLimiter& limiter) {
  const TableConfig& config = *picture.config;
  Explanation out;
  *out.mutable_config() = ToProto(config);
  out.set_config_generation(picture.config_generation);
  out.set_cause(causes::kNone);
  out.set_items(static_cast<uint64_t>(picture.counts.items));
  out.set_items_inserted(static_cast<uint64_t>(picture.inserts));
  out.set_items_sampled(static_cast<uint64_t>(picture.samples));
  out.set_difference(limiter.Difference());
  out.set_min_difference(config.rate_limiter.MinDifference());
  out.set_max_difference(config.rate_limiter.MaxDifference());
  out.set_bytes(static_cast<uint64_t>(picture.bytes));
  out.set_memory_bytes(static_cast<uint64_t>(config.memory_limit > 0 ? picture.tier.memory_bytes : picture.bytes));
  out.set_disk_bytes(static_cast<uint64_t>(picture.tier.disk_bytes));
  out.set_disk_reads(static_cast<uint64_t>(picture.tier.reads));
  out.set_inserts_waiting(static_cast<uint64_t>(picture.inserts_waiting));
  out.set_samples_waiting(static_cast<uint64_t>(picture.samples_waiting));
  for (const TablePicture::Party& party : picture.parties) {
    AddParty(party, &out);
  }
  if (picture.last_update.ago < absl::InfiniteDuration()) {
    out.set_priorities_updated_ago(absl::ToDoubleSeconds(picture.last_update.ago));
    out.set_priorities_updated_by(picture.last_update.who);
  }
  if (config.durability != Durability::kNone || config.memory_limit > 0) {
    *out.mutable_storage() = Describe(picture.disk);
    out.set_unacknowledged_blocks(static_cast<uint64_t>(picture.disk.unacknowledged_blocks));
    out.set_unacknowledged_bytes(static_cast<uint64_t>(picture.disk.unacknowledged_bytes));
  }
  return out;
}

// Applies the rules to one picture.
class Explainer {
 public:
  Explainer(const TablePicture& picture, const ExplainOptions& options)
      : picture_(picture), options_(options), stall_(picture), out_(Numbers(picture, stall_.limiter())) {
    const TableConfig& config = stall_.config();
    samples_blocked_ =
        !picture.first_samples.empty() && !MaySample(config, stall_.limiter(), picture.counts, stall_.batch());
    // A batch that the table can never serve lets no inserts through.
    const int64_t most_items = picture.byte_shortage.has_value() ? picture.byte_shortage->items : config.max_items;
    const int64_t batch = stall_.batch().items > LargestBatch(config, most_items) ? 0 : stall_.batch().items;
    inserts_blocked_ = !picture.first_inserts.empty() && !MayInsert(config, stall_.limiter(), picture.counts, batch);
  }

  Explanation Explain() {
    std::optional<Explanation> disk = ExplainDisk(picture_, options_);
    if (ExplainDeadlock()) {
      // A disk that takes the data would not end it.
      beside_.set_summary(disk.has_value() ? disk->summary() : "");
    } else {
      ExplainLimiter();
      // If both are found, only one is reported: a wait before a mere problem.
      std::optional<Explanation> memory = ExplainSampleMemory(picture_, options_);
      Tell(memory.has_value() && !(disk.has_value() && Waits(*disk)) ? std::move(memory) : std::move(disk));
    }
    Summarize();
    ExplainEach();
    return std::move(out_);
  }

 private:
  bool ExplainDeadlock() {
    // A polling sampler of several servers may be able to draw from the others.
    if (!samples_blocked_ || picture_.first_samples.front().looks) {
      return false;
    }
    const std::optional<Explanation> deadlock = FindDeadlock(stall_);
    if (!deadlock.has_value()) {
      return false;
    }
    out_.set_verdict(Explanation::VERDICT_DEADLOCK);
    Found(*deadlock);
    return true;
  }

  void ExplainLimiter() {
    if (inserts_blocked_) {
      Found(ExplainInserts(stall_));
    } else if (samples_blocked_) {
      Found(ExplainSamples(stall_));
    }
    out_.set_verdict(Stalled() ? Explanation::VERDICT_WAITING : Explanation::VERDICT_FLOWING);
  }

  void Found(const Explanation& finding) {
    out_.MergeFrom(finding);
    limiter_cause_ = finding.cause();
    why_ = finding.summary();
    if (inserts_blocked_ || samples_blocked_) {
      out_.set_who_could(DescribeClients(picture_, BySamples() ? Kind::kWriter : Kind::kSampler));
    }
  }

  void Tell(std::optional<Explanation> finding) {
    if (!finding.has_value()) {
      return;
    }
    beside_ = *std::move(finding);
    if (!Waits(beside_) && Waits(out_)) {
      return;  // The requests wait for another reason.
    }
    out_.set_verdict(std::max(out_.verdict(), beside_.verdict()));
    out_.set_cause(beside_.cause());
    out_.set_who_could(beside_.who_could().empty() ? out_.who_could() : beside_.who_could());
    auto remedies = beside_.remedies();
    remedies.MergeFrom(out_.remedies());
    *out_.mutable_remedies() = std::move(remedies);
  }

  bool IsDeadlock() const { return out_.verdict() == Explanation::VERDICT_DEADLOCK; }

  // A deadlock is explained from the batch; otherwise inserts come first.
  bool BySamples() const { return samples_blocked_ && (IsDeadlock() || !inserts_blocked_); }

  // For how long the first insert has waited without any insert.
  absl::Duration InsertsStalledFor() const {
    return std::min(picture_.first_inserts.front().waited, picture_.Last(Kind::kWriter).ago);
  }
  // The same for the first batch. Samplers of other batches may go on meanwhile.
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

  // Waits come before mere problems.
  void Summarize() {
    const std::string& beside = beside_.summary();
    const std::string limiter = LimiterSummary();
    out_.set_summary(beside.empty()                   ? limiter
                     : Waits(beside_) || !Waits(out_) ? absl::StrCat(beside, "; ", limiter)
                                                      : absl::StrCat(limiter, "; ", beside));
  }

  std::string LimiterSummary() const {
    if (!inserts_blocked_ && !samples_blocked_) {
      return absl::StrCat(Waits(out_) ? "" : "no call waits; ", picture_.counts.items, " of ",
                          stall_.config().max_items, " items");
    }
    if (!IsDeadlock() && !Stalled()) {
      return absl::StrCat(Waits(beside_) ? "" : "goes on; ", "at the moment ", why_);
    }
    const absl::Duration waited =
        BySamples() ? picture_.first_samples.front().waited : picture_.first_inserts.front().waited;
    const char* absent = "";
    if (limiter_cause_ == causes::kNobodyWrites) {
      absent = picture_.inserts == 0 ? "no writer is connected, and no item was ever inserted: "
                                     : "no writer is connected: ";
    } else if (limiter_cause_ == causes::kNobodySamples) {
      absent = picture_.samples == 0 ? "no sampler is connected, and no item was ever sampled: "
                                     : "no sampler is connected: ";
    }
    return absl::StrCat("for ", SecondsText(waited), ": ", absent, why_);
  }

  void ExplainEach() {
    const std::string no_insert =
        inserts_blocked_ ? stall_.limiter().WhyNoInsert(picture_.counts.items) : "is about to go on";
    for (size_t i = 0; i < picture_.first_inserts.size(); ++i) {
      AddWait(v1::Wait::KIND_INSERT, picture_.first_inserts[i], i == 0 ? no_insert : "waits for its turn", &out_);
    }
    for (size_t i = 0; i < picture_.first_samples.size(); ++i) {
      AddWait(v1::Wait::KIND_SAMPLE, picture_.first_samples[i], WhySample(i), &out_);
    }
  }

  std::string WhySample(size_t i) const {
    if (i == 0 && samples_blocked_) {
      return BySamples() ? why_ : ExplainSamples(stall_).summary();
    }
    if (picture_.first_samples[i].looks) {
      return samples_blocked_ ? "polls for a batch of several servers"
                              : "this server has its part of a batch; another server does not yet";
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
               ? "is about to go on, or waits for items that are not set aside for the first batch"
               : ExplainSamples(own).summary();
  }

  static bool Alike(const DrawRequest& a, const DrawRequest& b) { return a.items == b.items && a.counted == b.counted; }

  const TablePicture& picture_;
  const ExplainOptions options_;
  const Stall stall_;
  bool samples_blocked_ = false;
  bool inserts_blocked_ = false;
  std::string limiter_cause_;  // The cause and the reason of the first wait for the limiter.
  std::string why_;
  Explanation beside_;  // Empty if the limiter explains all.
  Explanation out_;
};

}  // namespace

v1::TableExplanation Explain(const TablePicture& picture, const ExplainOptions& options) {
  return Explainer(picture, options).Explain();
}

}  // namespace waggle
