#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status_macros.h"
#include "common/config/table/table_name.h"
#include "replay_server/base/refusal_reasons.h"
#include "replay_server/items/table_memory.h"
#include "replay_server/store/replay_store.h"

// The experiments of a replay store's tables.

namespace waggle {

absl::Status ReplayStore::CheckRoomLocked(const TableConfig& config) const {
  WAGGLE_RETURN_IF_ERROR(CheckMemory(config));
  return CheckExperimentLocked(config);
}

absl::Status ReplayStore::CheckExperimentLocked(const TableConfig& config) const {
  const absl::string_view experiment = ExperimentOfTable(config.name);
  if (experiment.empty()) {
    return absl::OkStatus();
  }
  int64_t left = options_.max_experiment_bytes;
  for (const auto& [name, table] : tables_) {
    if (name != config.name && ExperimentOfTable(name) == experiment) {
      left -= std::min(left, MostRowBytes(*table->config()));
    }
  }
  const int64_t wanted = MostRowBytes(config);
  if (wanted <= left) {
    return absl::OkStatus();
  }
  return Refusal(absl::StatusCode::kResourceExhausted, reasons::kExperimentTooLarge, "table \"", config.name,
                 "\": its rows may take ", wanted, " bytes; the tables of one experiment may take ",
                 options_.max_experiment_bytes, " bytes on this server (--experiment-bytes), of which ", left,
                 " are left beside its others; lower max_items or max_bytes");
}

std::vector<std::shared_ptr<Table>> ReplayStore::TablesOf(const std::string& experiment_id) const {
  MutexLock lock(&mutex_);
  std::vector<std::shared_ptr<Table>> tables;
  for (const auto& [name, table] : tables_) {
    if (ExperimentOfTable(name) == experiment_id) {
      tables.push_back(table);
    }
  }
  return tables;
}

std::vector<std::string> ReplayStore::Experiments() const {
  MutexLock lock(&mutex_);
  std::vector<std::string> experiments;
  for (const auto& [name, table] : tables_) {
    const absl::string_view experiment = ExperimentOfTable(name);
    // Names are sorted, but "a.b/t" comes between "a-b/t" and "a/t".
    if (!experiment.empty() && std::find(experiments.begin(), experiments.end(), experiment) == experiments.end()) {
      experiments.emplace_back(experiment);
    }
  }
  return experiments;
}

int64_t ReplayStore::DropExperiment(const std::string& experiment_id) {
  std::vector<std::shared_ptr<Table>> dropped;
  Forgotten forgotten;
  SavedWriters never_back;
  {
    MutexLock lock(&mutex_);
    if (experiment_id.empty() || closed_) {
      return 0;
    }
    for (auto it = tables_.begin(); it != tables_.end();) {
      if (ExperimentOfTable(it->first) == experiment_id) {
        saved_tables_.erase(it->first);
        dropped.push_back(std::move(it->second));
        it = tables_.erase(it);
      } else {
        ++it;
      }
    }
    writers_.ForgetThoseOf(dropped, &forgotten);
    for (auto it = saved_writers_.begin(); it != saved_writers_.end();) {
      const std::vector<std::string>& own = it->second->tables;
      const auto here = it++;
      if (std::all_of(own.begin(), own.end(),
                      [&](const std::string& name) { return ExperimentOfTable(name) == experiment_id; })) {
        never_back.insert(saved_writers_.extract(here));
      }
    }
    for (const std::shared_ptr<Table>& table : dropped) {
      if (table->number() != 0) {
        log_->DropTable(table);  // Under the lock, so that a new table of this name is logged later.
      }
    }
  }
  for (const auto& [id, saved] : never_back) {
    log_->ForgetWriter(saved->number);
  }
  for (const std::shared_ptr<Table>& table : dropped) {
    table->Discard();
  }
  return static_cast<int64_t>(dropped.size());
}

ReplayStore::WriterInfo ReplayStore::WritersOf(const std::string& experiment_id) const {
  const std::vector<std::shared_ptr<Table>> tables = TablesOf(experiment_id);
  MutexLock lock(&mutex_);
  const auto [writers, bytes] = writers_.CountThoseOf(tables);
  return {writers, bytes};
}

}  // namespace waggle
