#include "replay_server/store/replay_store.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/log.h"
#include "common/base/nearest_name.h"
#include "common/base/status_macros.h"
#include "common/replay/blocks/block_compression.h"
#include "replay_server/base/refusal_reasons.h"
#include "replay_server/items/table_memory.h"
#include "replay_server/rows/row_layout.h"

namespace waggle {
namespace {

// The largest max_items, up to the table's own, that needs at most `bytes`; 0 if there is none.
int64_t MostItemsWithin(int64_t bytes, TableConfig config) {
  int64_t most = 0;
  for (int64_t step = std::max<int64_t>(config.max_items, 1); step > 0;) {
    config.max_items = most + step;
    if (LeastMemoryWhenFull(config) <= bytes) {
      most += step;
    } else {
      step /= 2;
    }
  }
  return most;
}

// INVALID_ARGUMENT if the table cannot hold a row. The size of compressed columns is unknown, so they do not count.
absl::Status CheckHoldsRow(const TableConfig& config) {
  const RowLayout rows(config.signature, ColumnCodecs(config.signature, config.compression));
  if (static_cast<int64_t>(rows.plain_row_bytes) <= config.max_bytes) {
    return absl::OkStatus();
  }
  return Refusal(absl::StatusCode::kInvalidArgument, reasons::kBadConfiguration, "table \"", config.name,
                 "\": max_bytes: ", config.max_bytes, " is less than one row has, ", rows.plain_row_bytes,
                 rows.compressed.empty() ? " bytes" : " bytes beside its compressed columns");
}

}  // namespace

absl::Status ReplayStoreOptions::Validate() const {
  if (max_tables < 1 || max_bytes < 1 || max_experiment_bytes < 1 || max_writer_bytes < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a replay store has a table and a byte at least; it may have ", max_tables, " tables, ", max_bytes, " bytes, ",
        max_experiment_bytes, " bytes of an experiment and ", max_writer_bytes, " bytes of its writers"));
  }
  WAGGLE_RETURN_IF_ERROR(known_writers.Validate());
  return writer.Validate();
}

ReplayStore::ReplayStore(ReplayStoreOptions options, TableLog* log, ChunkTiers* tiers)
    : options_(options),
      log_(log),
      tiers_(tiers),
      memory_(std::make_shared<MemoryAccount>(options.max_bytes)),
      writer_memory_(options.max_writer_bytes),
      writers_(options.known_writers) {}

ReplayStore::~ReplayStore() {
  Close();
}

absl::Status ReplayStore::Restore(std::vector<SavedTable> tables, std::vector<SavedWriter> writers) {
  MutexLock lock(&mutex_);
  for (SavedTable& saved : tables) {
    if (saved.tier != nullptr) {
      WAGGLE_RETURN_IF_ERROR(CheckStorage(saved.config));
      tiers_->Attach(saved.tier);
    }
    WAGGLE_ASSIGN_OR_RETURN(std::shared_ptr<Table> table, Table::Restore(std::move(saved), memory_, log_));
    const std::string name = table->name();
    if (!tables_.emplace(name, table).second) {
      return absl::DataLossError(absl::StrCat("table \"", name, "\" was saved twice"));
    }
    saved_tables_.insert(name);
    log_->AddTable(std::move(table), /*replaced=*/nullptr);
  }
  for (SavedWriter& saved : writers) {
    std::shared_ptr<const SavedWriter>& known = saved_writers_[saved.id];
    if (known != nullptr) {
      log_->ForgetWriter(known->number);  // The server crashed between two sessions of this writer.
    }
    known = std::make_shared<const SavedWriter>(std::move(saved));
  }
  return absl::OkStatus();
}

absl::Status ReplayStore::CheckStorage(const TableConfig& config) const {
  if (config.memory_limit > 0 && tiers_ == nullptr) {
    return Refusal(absl::StatusCode::kFailedPrecondition, reasons::kNoDataFolder, "table \"", config.name,
                   "\": memory_limit is ", config.memory_limit,
                   "; this server has no folder to keep the rows past it in (--data-dir), and takes none with a limit");
  }
  if (config.durability != Durability::kNone && log_ == nullptr) {
    return Refusal(absl::StatusCode::kFailedPrecondition, reasons::kNoDataFolder, "table \"", config.name,
                   "\" has durability ", Name(config.durability),
                   "; this server has no folder to keep it in (--data-dir), and takes tables of durability none only");
  }
  return absl::OkStatus();
}

absl::Status ReplayStore::CheckMemory(const TableConfig& config) const {
  const int64_t needed = LeastMemoryWhenFull(config);
  if (needed <= options_.max_bytes) {
    return absl::OkStatus();
  }
  const int64_t fitting = MostItemsWithin(options_.max_bytes, config);
  return Refusal(absl::StatusCode::kResourceExhausted, reasons::kTableTooLarge, "table \"", config.name,
                 "\": max_items, ", config.max_items, ", and max_bytes, ", config.max_bytes, ", let it take at least ",
                 needed, " bytes of memory; all tables of this server may have ", options_.max_bytes,
                 fitting > 0 ? absl::StrCat("; max_items of up to ", fitting, " would fit") : "",
                 config.memory_limit > 0 || tiers_ == nullptr ? "" : "; past a memory_limit rows are kept on disk");
}

absl::StatusOr<bool> ReplayStore::CreateTable(const TableConfig& config, std::optional<SavedPolicy> policy) {
  WAGGLE_RETURN_IF_ERROR(WithReason(reasons::kBadConfiguration, config.Validate()));
  WAGGLE_RETURN_IF_ERROR(CheckHoldsRow(config));
  WAGGLE_RETURN_IF_ERROR(CheckStorage(config));
  std::shared_ptr<Table> replaced;
  absl::StatusOr<bool> created;
  std::string warning;
  {
    MutexLock lock(&mutex_);
    created = CreateTableLocked(config, policy.value_or(options_.saved), &replaced, &warning);
  }
  if (!warning.empty()) {
    LogWarning(warning);
  }
  if (replaced != nullptr) {
    replaced->Discard();
  }
  return created;
}

absl::StatusOr<bool> ReplayStore::CreateTableLocked(const TableConfig& config, SavedPolicy policy,
                                                    std::shared_ptr<Table>* replaced, std::string* warning) {
  if (closed_) {
    return Refusal(absl::StatusCode::kCancelled, reasons::kStopping, "the replay store is closed");
  }
  const auto found = tables_.find(config.name);
  if (found != tables_.end()) {
    WAGGLE_ASSIGN_OR_RETURN(const bool accepted, AcceptTableLocked(*found->second, config, policy, warning));
    saved_tables_.erase(config.name);
    if (accepted) {
      return false;
    }
    *replaced = std::move(found->second);
    tables_.erase(found);
  } else {
    WAGGLE_RETURN_IF_ERROR(CheckRoomLocked(config));
  }
  WAGGLE_RETURN_IF_ERROR(MakeTableLocked(config, *replaced));
  return true;
}

absl::StatusOr<bool> ReplayStore::AcceptTableLocked(const Table& table, const TableConfig& config, SavedPolicy policy,
                                                    std::string* warning) const {
  const std::vector<std::string> differences = Differences(*table.config(), config);
  // Clients that do not know of a later change request the initial configuration.
  if (differences.empty() || Differences(table.created(), config).empty()) {
    return true;
  }
  const bool saved = saved_tables_.count(config.name) > 0;
  if (saved && policy != SavedPolicy::kRefuse) {
    const bool keep = policy == SavedPolicy::kKeep;
    // Checked before the saved table is lost.
    WAGGLE_RETURN_IF_ERROR(keep ? absl::OkStatus() : CheckRoomLocked(config));
    *warning = absl::StrCat("table \"", config.name, "\", as it was saved, ",
                            keep ? "is kept" : absl::StrCat("is dropped, with its ", table.info().items, " items"),
                            "; it differs from what is wanted (saved and wanted): ", absl::StrJoin(differences, "; "));
    return keep;
  }
  return Refusal(absl::StatusCode::kFailedPrecondition, reasons::kOtherConfiguration, "table \"", config.name,
                 "\" is there already and differs (there and wanted): ", absl::StrJoin(differences, "; "),
                 saved ? "; it is as it was saved: keep it, or replace it (the server's --if-saved-differs, or "
                         "if_saved_differs of the request)"
                       : "");
}

absl::Status ReplayStore::MakeTableLocked(const TableConfig& config, const std::shared_ptr<Table>& replaced) {
  if (static_cast<int64_t>(tables_.size()) >= options_.max_tables) {
    return Refusal(absl::StatusCode::kResourceExhausted, reasons::kTooManyTables, "there are ", tables_.size(),
                   " tables already, which is the most; table \"", config.name, "\" would be one more");
  }
  const std::shared_ptr<ChunkTier> tier =
      config.memory_limit > 0 ? tiers_->New(config.name, config.memory_limit) : nullptr;
  WAGGLE_ASSIGN_OR_RETURN(const std::shared_ptr<Table> table, Table::Create(config, config.seed, memory_, log_, tier));
  tables_[config.name] = table;
  if (table->number() != 0) {
    log_->AddTable(table, replaced);
  } else if (replaced != nullptr) {
    log_->DropTable(replaced);
  }
  return absl::OkStatus();
}

absl::StatusOr<Table::Reconfigured> ReplayStore::Reconfigure(const TableConfig& config, uint64_t generation,
                                                             bool dry_run) {
  WAGGLE_ASSIGN_OR_RETURN(const std::shared_ptr<Table> table, FindTable(config.name));
  // A restored table may exceed this server's limits. It may shrink in steps.
  const std::shared_ptr<const TableConfig> now = table->config();
  if (config.max_bytes < now->max_bytes) {
    WAGGLE_RETURN_IF_ERROR(CheckHoldsRow(config));
  }
  if (LeastMemoryWhenFull(config) > LeastMemoryWhenFull(*now)) {
    WAGGLE_RETURN_IF_ERROR(CheckMemory(config));
  }
  if (MostRowBytes(config) > MostRowBytes(*now)) {
    MutexLock lock(&mutex_);
    WAGGLE_RETURN_IF_ERROR(CheckExperimentLocked(config));
  }
  return table->Reconfigure(config, generation, dry_run);
}

absl::StatusOr<std::shared_ptr<Table>> ReplayStore::FindTable(const std::string& name) const {
  MutexLock lock(&mutex_);
  return FindTableLocked(name);
}

absl::StatusOr<std::shared_ptr<Table>> ReplayStore::FindTableLocked(const std::string& name) const {
  const auto found = tables_.find(name);
  if (found != tables_.end()) {
    return found->second;
  }
  std::vector<std::string> known;
  for (const auto& [table, unused] : tables_) {
    known.push_back(table);
  }
  return Refusal(absl::StatusCode::kNotFound, reasons::kUnknownTable, "no table named \"", name, "\"",
                 DidYouMean(name, known),
                 known.empty() ? "; there are no tables" : "; known: ", absl::StrJoin(known, ", "));
}

std::vector<std::shared_ptr<Table>> ReplayStore::tables() const {
  MutexLock lock(&mutex_);
  std::vector<std::shared_ptr<Table>> tables;
  for (const auto& [name, table] : tables_) {
    tables.push_back(table);
  }
  return tables;
}

void ReplayStore::Close() {
  std::vector<std::shared_ptr<Table>> closing;
  {
    MutexLock lock(&mutex_);
    closed_ = true;
    for (const auto& [name, table] : tables_) {
      closing.push_back(table);
    }
  }
  for (const std::shared_ptr<Table>& table : closing) {
    table->Close();
  }
}

}  // namespace waggle
