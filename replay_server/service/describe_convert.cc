#include "replay_server/service/describe_convert.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "common/replay_client/table_config_convert.h"

namespace waggle {

void Fill(const Table& table, v1::TableInfo* proto) {
  const Table::Info info = table.info();
  *proto->mutable_config() = ToProto(*info.config);
  proto->set_config_generation(info.config_generation);
  proto->set_items(info.items);
  proto->set_bytes(info.bytes);
  proto->set_items_inserted(info.items_inserted);
  proto->set_items_sampled(info.items_sampled);
  proto->set_items_removed(info.items_removed);
  proto->set_priorities_applied(info.priority_updates.applied);
  proto->set_priorities_stale(info.priority_updates.stale);
  proto->set_priorities_unknown(info.priority_updates.unknown);
  proto->set_inserts_waiting(info.inserts_waiting);
  proto->set_samples_waiting(info.samples_waiting);
  proto->set_blocked_because(info.blocked_because);
  proto->set_priority_sum(info.priority_sum);
  proto->set_disk_bytes(info.tier.disk_bytes);
  proto->set_memory_bytes(table.tier() != nullptr ? info.tier.memory_bytes : info.bytes);
  proto->set_disk_reads(info.tier.reads);
}

v1::CheckpointResponse ToProto(const CheckpointInfo& info) {
  v1::CheckpointResponse proto;
  proto.set_number(info.number);
  proto.set_items_changed(info.items);
  return proto;
}

v1::StorageInfo ToProto(const DiskPicture& disk) {
  v1::StorageInfo proto;
  if (disk.checkpoint_ago.has_value()) {
    proto.set_checkpoint_number(disk.checkpoint_number);
    proto.set_checkpoint_ago(absl::ToDoubleSeconds(*disk.checkpoint_ago));
  }
  proto.set_checkpoint_problem(disk.checkpoint_problem);
  if (!disk.failure.ok()) {
    proto.set_write_problem(WhyNotWritten(disk.failure));
    proto.set_write_problem_seconds(absl::ToDoubleSeconds(disk.failing));
  }
  proto.set_commit_waiting_seconds(absl::ToDoubleSeconds(disk.commit_waits));
  proto.set_folder(disk.folder);
  return proto;
}

absl::StatusOr<std::optional<SavedPolicy>> FromProto(v1::SavedPolicy policy) {
  switch (policy) {
    case v1::SAVED_POLICY_UNSPECIFIED:
      return std::nullopt;
    case v1::SAVED_POLICY_REFUSE:
      return SavedPolicy::kRefuse;
    case v1::SAVED_POLICY_KEEP:
      return SavedPolicy::kKeep;
    case v1::SAVED_POLICY_REPLACE:
      return SavedPolicy::kReplace;
    default:
      return absl::InvalidArgumentError(absl::StrCat("if_saved_differs: ", static_cast<int>(policy), " is none"));
  }
}

}  // namespace waggle
