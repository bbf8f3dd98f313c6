#include "replay_server/store/replay_store.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/annotate.h"
#include "common/base/log.h"
#include "common/base/nearest_name.h"
#include "common/base/status_macros.h"
#include "common/config/table/table_name.h"
#include "common/replay/blocks/block_compression.h"
#include "replay_server/base/refusal_reasons.h"
#include "replay_server/items/table_memory.h"
#include "replay_server/rows/row_layout.h"

namespace waggle {
namespace {

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

// A writer's tables share its rows, so the rows stay in memory if one table keeps them there.
void WarnOfLimits(const std::string& writer, const std::vector<std::shared_ptr<Table>>& tables) {
  std::vector<std::string> with;
  std::vector<std::string> without;
  for (const std::shared_ptr<Table>& table : tables) {
    (table->tier() != nullptr ? with : without).push_back(table->name());
  }
  if (!with.empty() && !without.empty()) {
    LogWarning("writer \"", writer, "\": memory_limit of ", absl::StrJoin(with, ", "),
               " does not hold for its rows, because ", absl::StrJoin(without, ", "), " has none and shares them");
  }
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
      writers_(options.known_writers, options.writer, options.max_writer_bytes, log) {}

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
    writers_.Restore(std::move(saved));
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
  KnownWriters::Forgotten forgotten;
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
    for (const std::shared_ptr<Table>& table : dropped) {
      if (table->number() != 0) {
        log_->DropTable(table);  // Under the lock, so that a new table of this name is logged later.
      }
    }
    writers_.ForgetThoseOf(experiment_id, &forgotten);
  }
  for (const std::shared_ptr<Table>& table : dropped) {
    table->Discard();
  }
  return static_cast<int64_t>(dropped.size());
}

absl::StatusOr<std::shared_ptr<WriterSession>> ReplayStore::OpenWriter(const std::string& writer_id,
                                                                       const std::vector<std::string>& tables,
                                                                       const std::vector<ArraySpec>& signature,
                                                                       std::optional<uint64_t> incarnation) {
  WAGGLE_RETURN_IF_ERROR(WithReason(reasons::kBadName, Annotate(ValidateName(writer_id), "writer_id")));
  if (tables.empty()) {
    return Refusal(absl::StatusCode::kInvalidArgument, reasons::kBadRequest, "writer \"", writer_id,
                   "\" names no table");
  }
  if (static_cast<int64_t>(tables.size()) > options_.max_tables) {
    return Refusal(absl::StatusCode::kInvalidArgument, reasons::kBadRequest, "writer \"", writer_id, "\" names ",
                   tables.size(), " tables; there are at most ", options_.max_tables);
  }
  if (std::set<std::string>(tables.begin(), tables.end()).size() != tables.size()) {
    return Refusal(absl::StatusCode::kInvalidArgument, reasons::kBadRequest, "writer \"", writer_id,
                   "\" names a table twice: ", absl::StrJoin(tables, ", "));
  }
  KnownWriters::Forgotten forgotten;
  absl::StatusOr<std::shared_ptr<WriterSession>> session;
  {
    MutexLock lock(&mutex_);
    std::vector<std::shared_ptr<Table>> found;
    for (const std::string& name : tables) {
      WAGGLE_ASSIGN_OR_RETURN(found.emplace_back(), FindTableLocked(name));
    }
    session = writers_.Open(writer_id, std::move(found), signature, incarnation, &forgotten);
  }
  if (session.ok()) {
    WarnOfLimits(writer_id, (*session)->tables());
  }
  return session;
}

void ReplayStore::TendWriters(absl::Time now) {
  KnownWriters::Forgotten forgotten;
  std::vector<std::shared_ptr<WriterSession>> just_gone;
  {
    MutexLock lock(&mutex_);
    writers_.Tend(now, &forgotten, &just_gone);
  }
  for (const std::shared_ptr<WriterSession>& session : just_gone) {
    session->Shrink();
  }
  just_gone.clear();  // They count as away again.
  MutexLock lock(&mutex_);
  writers_.ForgetForBytes(&forgotten);
}

std::map<std::string, WriterSession::Unanswered> ReplayStore::unanswered() const {
  MutexLock lock(&mutex_);
  return writers_.unanswered();
}

ReplayStore::WriterInfo ReplayStore::writer_info() const {
  MutexLock lock(&mutex_);
  return {writers_.size(), writers_.held_bytes()};
}

ReplayStore::WriterInfo ReplayStore::WritersOf(const std::string& experiment_id) const {
  MutexLock lock(&mutex_);
  const auto [writers, bytes] = writers_.CountThoseOf(experiment_id);
  return {writers, bytes};
}

void ReplayStore::Close() {
  {
    MutexLock lock(&mutex_);
    closed_ = true;
  }
  for (const std::shared_ptr<Table>& table : tables()) {
    table->Close();
  }
}

}  // namespace waggle
