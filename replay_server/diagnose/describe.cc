#include "replay_server/diagnose/describe.h"

#include "common/replay/table_config_convert.h"

namespace waggle {

v1::TableInfo Describe(const Table& table) {
  const Table::Info info = table.info();
  v1::TableInfo described;
  *described.mutable_config() = ToProto(*info.config);
  described.set_config_generation(info.config_generation);
  described.set_items(info.items);
  described.set_bytes(info.bytes);
  described.set_items_inserted(info.items_inserted);
  described.set_items_sampled(info.items_sampled);
  described.set_items_removed(info.items_removed);
  described.set_priorities_applied(info.priority_updates.applied);
  described.set_priorities_stale(info.priority_updates.stale);
  described.set_priorities_unknown(info.priority_updates.unknown);
  described.set_inserts_waiting(info.inserts_waiting);
  described.set_samples_waiting(info.samples_waiting);
  described.set_blocked_because(info.blocked_because);
  described.set_priority_sum(info.priority_sum);
  described.set_disk_bytes(info.tier.disk_bytes);
  described.set_memory_bytes(table.tier() != nullptr ? info.tier.memory_bytes : info.bytes);
  described.set_disk_reads(info.tier.reads);
  return described;
}

v1::StorageInfo Describe(const DiskPicture& disk) {
  v1::StorageInfo described;
  if (disk.checkpoint_ago.has_value()) {
    described.set_checkpoint_number(disk.checkpoint_number);
    described.set_checkpoint_ago(absl::ToDoubleSeconds(*disk.checkpoint_ago));
  }
  described.set_checkpoint_problem(disk.checkpoint_problem);
  if (!disk.failure.ok()) {
    described.set_write_problem(WhyNotWritten(disk.failure));
    described.set_write_problem_seconds(absl::ToDoubleSeconds(disk.failing));
  }
  described.set_commit_waiting_seconds(absl::ToDoubleSeconds(disk.commit_waits));
  described.set_folder(disk.folder);
  return described;
}

}  // namespace waggle
