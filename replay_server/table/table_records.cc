#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/config/table/table_name.h"
#include "replay_server/table/table.h"

// Saves and restores tables.

namespace waggle {

void TableState::TakeChanges(size_t most, TableChanges* changes) {
  changes->cleared = std::exchange(cleared_, false);
  changes->counters = {incarnation_,   next_generation_,  limiter_.inserts(), limiter_.samples(),
                       items_removed_, priority_updates_, limiter_.carried()};
  const size_t count = std::min(most, changed_.size());
  changes->items.reserve(changes->items.size() + count);
  for (size_t i = 0; i < count; ++i) {
    const uint32_t slot = changed_.front();
    changed_.pop_front();
    in_.items.set_changed(slot, false);
    ItemRecord record;
    record.slot = slot;
    if (in_.items.holds_item(slot)) {
      const ItemSlots::Facts facts = in_.items.facts(slot);
      Window window = in_.items.window(slot);
      record.generation = facts.generation;
      record.priority = facts.priority;
      record.policy_version = facts.policy_version;
      record.offset = window.offset;
      record.rows = window.rows;
      record.times_sampled = facts.times_sampled;
      record.pins = facts.pins;
      record.context = window.context;
      record.chunks = std::move(window.chunks);
    }
    changes->items.push_back(std::move(record));
  }
}

absl::Status TableState::CheckSaved(const TableConfig& config, const TableCounters& counters,
                                    const std::vector<ItemRecord>& items) {
  constexpr int64_t kMostItems = int64_t{1} << 31;  // The largest possible max_items.
  // Limit of the distance from the oldest item to the next.
  constexpr uint64_t kMostGenerations = uint64_t{1} << 47;
  constexpr uint64_t kLastGeneration = uint64_t{1} << 63;
  uint64_t newest = counters.next_generation;
  uint64_t oldest = std::numeric_limits<uint64_t>::max();
  for (const ItemRecord& item : items) {
    // Each slot was made for an insert, so inserts bound slots.
    if (int64_t{item.slot} >= counters.inserted || int64_t{item.slot} >= kMostItems || item.generation == 0 ||
        item.chunks.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("slot ", item.slot, " holds generation ", item.generation,
                                                     " over ", item.chunks.size(), " chunks, after ", counters.inserted,
                                                     " inserts"));
    }
    if (config.max_times_sampled > 0 && int64_t{item.times_sampled} >= config.max_times_sampled) {
      return absl::InvalidArgumentError(absl::StrCat("slot ", item.slot, " holds an item that was sampled ",
                                                     item.times_sampled, " times, of ", config.max_times_sampled));
    }
    newest = std::max(newest, item.generation);
    oldest = std::min(oldest, item.generation);
  }
  if (newest > kLastGeneration || (!items.empty() && newest - oldest >= kMostGenerations)) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is generation ", newest,
                     items.empty() ? ", too far on" : absl::StrCat(" and generation ", oldest, ", too far apart")));
  }
  return absl::OkStatus();
}

absl::Status TableState::Restore(const TableCounters& counters, std::vector<ItemRecord> items) {
  // Far more generations than a server gives between a save and its end.
  constexpr uint64_t kNeverGiven = uint64_t{1} << 32;
  WAGGLE_RETURN_IF_ERROR(CheckSaved(config_, counters, items));
  uint32_t slots = 0;
  for (const ItemRecord& item : items) {
    slots = std::max(slots, item.slot + 1);
  }
  std::sort(items.begin(), items.end(),
            [](const ItemRecord& a, const ItemRecord& b) { return a.generation < b.generation; });
  in_.items.Grow(slots);
  next_generation_ = counters.next_generation;
  for (ItemRecord& item : items) {
    if (in_.items.holds_item(item.slot)) {
      return absl::InvalidArgumentError(absl::StrCat("slot ", item.slot, " holds two items"));
    }
    in_.items.Fill(item.slot, {std::move(item.chunks), item.offset, item.rows, item.context},
                   {item.generation, item.priority, item.policy_version, item.times_sampled, item.pins});
    bytes_.Pin(in_.items, item.slot);
    in_.sampler->Insert(item.slot, item.priority);
    in_.remover->Insert(item.slot, item.priority);
    ++items_;
    draws_left_ += config_.max_times_sampled > 0 ? config_.max_times_sampled - item.times_sampled : 0;
    next_generation_ = std::max(next_generation_, item.generation + 1);
  }
  in_.items.CollectFree();
  incarnation_ = counters.incarnation;
  // Draws depend on the seed and on the state when it was saved. They do not repeat the first ones.
  rng_ = Rng::Split(config_.seed, PlainTableName(config_.name), next_generation_);
  next_generation_ += kNeverGiven;
  limiter_.Restore(counters.inserted, counters.sampled, counters.ratio_carried);
  items_removed_ = counters.removed;
  priority_updates_ = counters.priority_updates;
  return absl::OkStatus();
}

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
  return Damaged(saved.created.name, TableState::CheckSaved(saved.config, saved.counters, saved.items));
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
