#include "replay_server/service/explain_convert.h"

#include <string>
#include <vector>

#include "common/replay_client/table_config_convert.h"
#include "replay_server/diagnose/explain_stall.h"
#include "replay_server/service/describe_convert.h"

namespace waggle {
namespace {

v1::TableExplanation::Verdict ToProto(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFlowing:
      return v1::TableExplanation::VERDICT_FLOWING;
    case Verdict::kWaiting:
      return v1::TableExplanation::VERDICT_WAITING;
    case Verdict::kDeadlock:
      return v1::TableExplanation::VERDICT_DEADLOCK;
  }
  return v1::TableExplanation::VERDICT_UNSPECIFIED;
}

void AddWaits(v1::Wait::Kind kind, const std::vector<TablePicture::Wait>& waits, const std::vector<std::string>& why,
              v1::TableExplanation* proto) {
  for (size_t i = 0; i < waits.size(); ++i) {
    v1::Wait* wait = proto->add_waits();
    wait->set_kind(kind);
    wait->set_who(waits[i].who);
    wait->set_connected(waits[i].present);
    wait->set_items(static_cast<uint64_t>(waits[i].asked.items));
    wait->set_counted(static_cast<uint64_t>(waits[i].asked.counted));
    wait->set_seconds(absl::ToDoubleSeconds(waits[i].waited));
    wait->set_why(why[i]);
  }
}

void AddParty(const TablePicture::Party& party, v1::TableExplanation* proto) {
  v1::Party* added = proto->add_parties();
  added->set_kind(party.kind == Requester::Kind::kWriter ? v1::Party::KIND_WRITER : v1::Party::KIND_SAMPLER);
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

}  // namespace

v1::TableExplanation ToProto(const TablePicture& picture, const Explanation& explanation) {
  v1::TableExplanation proto;
  *proto.mutable_config() = ToProto(*picture.config);
  proto.set_config_generation(picture.config_generation);
  proto.set_verdict(ToProto(explanation.verdict));
  proto.set_cause(std::string(Name(explanation.cause)));
  proto.set_summary(explanation.summary);
  proto.set_who_could(explanation.who_could);
  proto.set_items(static_cast<uint64_t>(picture.counts.items));
  proto.set_items_inserted(static_cast<uint64_t>(picture.inserts));
  proto.set_items_sampled(static_cast<uint64_t>(picture.samples));
  const RateLimiterConfig& limiter = picture.config->rate_limiter;
  proto.set_difference(Stall(picture).limiter().Difference());
  proto.set_min_difference(limiter.MinDifference());
  proto.set_max_difference(limiter.MaxDifference());
  proto.set_bytes(static_cast<uint64_t>(picture.bytes));
  proto.set_memory_bytes(
      static_cast<uint64_t>(picture.config->memory_limit > 0 ? picture.tier.memory_bytes : picture.bytes));
  proto.set_disk_bytes(static_cast<uint64_t>(picture.tier.disk_bytes));
  proto.set_disk_reads(static_cast<uint64_t>(picture.tier.reads));
  proto.set_inserts_waiting(static_cast<uint64_t>(picture.inserts_waiting));
  proto.set_samples_waiting(static_cast<uint64_t>(picture.samples_waiting));
  AddWaits(v1::Wait::KIND_INSERT, picture.first_inserts, explanation.why_inserts, &proto);
  AddWaits(v1::Wait::KIND_SAMPLE, picture.first_samples, explanation.why_samples, &proto);
  for (const Remedy& remedy : explanation.remedies) {
    v1::Remedy* added = proto.add_remedies();
    added->set_setting(remedy.setting);
    added->set_now(remedy.now);
    added->set_change(remedy.change);
    added->set_value(remedy.value);
    added->set_is_table_setting(remedy.is_setting);
  }
  for (const TablePicture::Party& party : picture.parties) {
    AddParty(party, &proto);
  }
  if (picture.last_update.ago < absl::InfiniteDuration()) {
    proto.set_priorities_updated_ago(absl::ToDoubleSeconds(picture.last_update.ago));
    proto.set_priorities_updated_by(picture.last_update.who);
  }
  if (picture.config->durability != Durability::kNone || picture.config->memory_limit > 0) {
    *proto.mutable_storage() = ToProto(picture.disk);
    proto.set_unacknowledged_blocks(static_cast<uint64_t>(picture.disk.unacknowledged_blocks));
    proto.set_unacknowledged_bytes(static_cast<uint64_t>(picture.disk.unacknowledged_bytes));
  }
  return proto;
}

}  // namespace waggle
