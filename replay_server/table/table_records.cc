#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "replay_server/table/table.h"

// Saves and restores tables.

namespace waggle {
namespace {

absl::Status CheckConfigs(const TableConfig& created, const TableConfig& config) {
  WAGGLE_RETURN_IF_ERROR(created.Validate());
  WAGGLE_RETURN_IF_ERROR(config.Validate());
  if (const std::vector<std::string> fixed = FixedDifferences(created, config); !fixed.empty()) {
    return absl::DataLossError(absl::StrCat("settings that cannot be changed have changed (at first and since): ",
                                            absl::StrJoin(fixed, "; ")));
  }
  return created.durability == Durability::kNone ? absl::DataLossError("durability: got none; wanted checkpoint or log")
                                                 : absl::OkStatus();
}

absl::Status Damaged(const std::string& table, const absl::Status& status) {
  return status.ok()
             ? status
             : absl::DataLossError(absl::StrCat("table \"", table, "\": its saved state is wrong: ", status.message()));
}

}  // namespace

absl::Status Table::CheckSaved(const SavedTable& saved) {
  WAGGLE_RETURN_IF_ERROR(Damaged(saved.created.name, CheckConfigs(saved.created, saved.config)));
  return Damaged(saved.created.name, CheckSavedItems(saved.config, saved.counters, saved.items));
}

absl::StatusOr<std::shared_ptr<Table>> Table::Restore(SavedTable saved, std::shared_ptr<MemoryAccount> memory,
                                                      TableLog* log) {
  WAGGLE_RETURN_IF_ERROR(Damaged(saved.created.name, CheckConfigs(saved.created, saved.config)));
  std::shared_ptr<Table> table(
      new Table(saved.created, saved.config, saved.config.seed, std::move(memory), log, saved.number, saved.tier));
  MutexLock lock(&table->mutex_);
  table->config_generation_ = saved.config_generation;
  table->config_changed_ = false;
  WAGGLE_RETURN_IF_ERROR(Damaged(saved.created.name, table->state_.Restore(saved.counters, std::move(saved.items))));
  table->marks_.Restore(saved.marks);
  return table;
}

void Table::AfterCommit(const TableLog::Answer& answer) const {
  if (logged()) {
    log_->AfterCommit(answer);
  } else {
    answer(absl::OkStatus());
  }
}

void Table::TakeChangesLocked(size_t most, TableChanges* changes) {
  state_.TakeChanges(most, changes);
  marks_.TakeChanges(number_, &changes->marks);
  if (std::exchange(config_changed_, false)) {
    changes->config = config_;
  }
  changes->config_generation = config_generation_;
}

void Table::TakeChanges(const std::vector<std::shared_ptr<Table>>& tables, std::vector<TableChanges>* changes,
                        const std::function<void()>& while_locked) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  // Always in order of numbers. Other code never holds two of these locks.
  changes->resize(tables.size());
  for (const std::shared_ptr<Table>& table : tables) {
    table->mutex_.Lock();
  }
  for (size_t i = 0; i < tables.size(); ++i) {
    tables[i]->TakeChangesLocked(std::numeric_limits<size_t>::max(), &(*changes)[i]);
  }
  while_locked();
  for (const std::shared_ptr<Table>& table : tables) {
    table->mutex_.Unlock();
  }
}

void Table::TakeSomeChanges(size_t most, TableChanges* changes) {
  MutexLock lock(&mutex_);
  TakeChangesLocked(most, changes);
}

size_t Table::changed_slots() const {
  MutexLock lock(&mutex_);
  return state_.changed_slots();
}

void Table::ForgetWriter(uint64_t writer) {
  MutexLock lock(&mutex_);
  marks_.Forget(writer);
}

void Table::TouchMark(uint64_t writer) {
  MutexLock lock(&mutex_);
  if (log_ != nullptr) {
    marks_.Touch(writer);
  }
}

void Table::RestartMark(uint64_t writer, uint64_t sequence) {
  MutexLock lock(&mutex_);
  if (log_ != nullptr) {
    marks_.Restart(writer, sequence);
  }
}

}  // namespace waggle
