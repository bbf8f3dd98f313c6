#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "common/base/annotate.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/replay/blocks/block_compression.h"
#include "replay_server/base/refusal_reasons.h"
#include "replay_server/store/replay_store.h"

// How writers of a replay store come, leave and return.

namespace waggle {
namespace {

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

std::vector<std::string> NamesOf(const std::vector<std::shared_ptr<Table>>& tables) {
  std::vector<std::string> names;
  for (const std::shared_ptr<Table>& table : tables) {
    names.push_back(table->name());
  }
  return names;
}

}  // namespace

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
  Forgotten forgotten;
  absl::StatusOr<std::shared_ptr<WriterSession>> session;
  {
    MutexLock lock(&mutex_);
    session = OpenWriterLocked(writer_id, tables, signature, incarnation, &forgotten);
  }
  if (session.ok()) {
    WarnOfLimits(writer_id, (*session)->tables());
  }
  return session;
}

absl::StatusOr<std::shared_ptr<WriterSession>> ReplayStore::OpenWriterLocked(const std::string& writer_id,
                                                                             const std::vector<std::string>& tables,
                                                                             const std::vector<ArraySpec>& signature,
                                                                             std::optional<uint64_t> incarnation,
                                                                             Forgotten* forgotten) {
  std::vector<std::shared_ptr<Table>> found;
  for (const std::string& name : tables) {
    WAGGLE_ASSIGN_OR_RETURN(std::shared_ptr<Table> table, FindTableLocked(name));
    if (table->created().signature != signature) {
      return Refusal(absl::StatusCode::kFailedPrecondition, reasons::kWrongColumns, "writer \"", writer_id,
                     "\" has the columns ", DebugString(signature), "; table \"", name, "\" has ",
                     DebugString(table->created().signature));
    }
    if (!found.empty() && ColumnCodecs(signature, table->created().compression) !=
                              ColumnCodecs(signature, found.front()->created().compression)) {
      return Refusal(absl::StatusCode::kFailedPrecondition, reasons::kWrongColumns, "writer \"", writer_id,
                     "\": tables \"", tables.front(), "\" and \"", name, "\" compress columns differently");
    }
    found.push_back(std::move(table));
  }
  std::shared_ptr<WriterSession> known = writers_.Find(writer_id);
  if (known != nullptr && incarnation.has_value() && known->ended() && known->incarnation() != *incarnation) {
    known = nullptr;  // Another writer has the id now.
  }
  if (known != nullptr && known->tables() != found && NamesOf(known->tables()) == tables) {
    writers_.Forget(writer_id, forgotten);  // One of its tables was replaced.
    known = nullptr;
  }
  if (known != nullptr) {
    if (known->tables() != found) {
      return Refusal(absl::StatusCode::kFailedPrecondition, reasons::kOtherWriter, "writer \"", writer_id,
                     "\" named other tables before than ", absl::StrJoin(tables, ", "));
    }
    writers_.Open(writer_id, known);
    return known;
  }
  if (!writers_.HasRoom()) {
    return Refusal(absl::StatusCode::kResourceExhausted, reasons::kTooManyWriters, "writer \"", writer_id,
                   "\": this server has ", writers_.size(), " writers that are connected, which is the most");
  }
  // First, because it may fail: then no writer must be forgotten.
  WAGGLE_ASSIGN_OR_RETURN(
      std::shared_ptr<const SavedWriter> saved,
      FindSavedLocked(writer_id, tables, signature, ColumnCodecs(signature, found.front()->created().compression)));
  if (incarnation.has_value()) {
    writers_.ForgetEnded(writer_id, *incarnation, forgotten);
  }
  writers_.MakeRoom(forgotten);
  if (saved == nullptr && incarnation.has_value()) {
    saved = FindForgottenLocked(writer_id, *incarnation, found);
  }
  auto session = std::make_shared<WriterSession>(std::move(found), signature, options_.writer, writer_id, log_,
                                                 saved.get(), writer_memory_);
  if (session->number() != 0) {
    log_->AddWriter(writer_id, session);
  } else if (saved != nullptr && log_ != nullptr) {
    log_->ForgetWriter(saved->number);  // None of its tables is saved now.
  }
  writers_.Open(writer_id, session);
  saved_writers_.erase(writer_id);
  if (incarnation.has_value()) {
    writers_.DropForgotten(writer_id, *incarnation);
  }
  return session;
}

std::shared_ptr<const SavedWriter> ReplayStore::FindForgottenLocked(
    const std::string& writer_id, uint64_t incarnation, const std::vector<std::shared_ptr<Table>>& tables) const {
  const std::optional<ForgottenWriters::Writer> known = writers_.FindForgotten(writer_id, incarnation, tables);
  if (!known.has_value()) {
    return nullptr;
  }
  auto saved = std::make_shared<SavedWriter>();
  saved->number = log_ != nullptr ? log_->NewNumber() : 0;
  saved->id = writer_id;
  saved->incarnation = incarnation;
  saved->sequence = known->sequence;
  saved->counts = known->counts;
  return saved;
}

absl::StatusOr<std::shared_ptr<const SavedWriter>> ReplayStore::FindSavedLocked(const std::string& writer_id,
                                                                                const std::vector<std::string>& tables,
                                                                                const std::vector<ArraySpec>& signature,
                                                                                const std::vector<Codec>& codecs) {
  const auto found = saved_writers_.find(writer_id);
  if (found == saved_writers_.end()) {
    return std::shared_ptr<const SavedWriter>();
  }
  if (found->second->signature != signature || found->second->codecs != codecs) {
    // All of its tables were replaced by tables of other rows.
    log_->ForgetWriter(found->second->number);
    saved_writers_.erase(found);
    return std::shared_ptr<const SavedWriter>();
  }
  if (found->second->tables != tables) {
    return Refusal(absl::StatusCode::kFailedPrecondition, reasons::kOtherWriter, "writer \"", writer_id,
                   "\" named other tables before (", absl::StrJoin(found->second->tables, ", "), ") than ",
                   absl::StrJoin(tables, ", "));
  }
  auto copy = std::make_shared<SavedWriter>(*found->second);
  // Marks of replaced tables no longer count. The writer's rows may be out of place for the new tables.
  const size_t marks = copy->marks.size();
  copy->marks.erase(std::remove_if(copy->marks.begin(), copy->marks.end(),
                                   [this](const auto& mark) ABSL_NO_THREAD_SAFETY_ANALYSIS {
                                     const auto table = tables_.find(mark.first);
                                     return table == tables_.end() || table->second->number() != mark.second.table;
                                   }),
                    copy->marks.end());
  if (copy->marks.size() < marks) {
    copy->streams.clear();
  }
  return std::shared_ptr<const SavedWriter>(std::move(copy));
}

void ReplayStore::TendWriters(absl::Time now) {
  Forgotten forgotten;
  Forgotten just_gone;
  SavedWriters never_back;
  {
    MutexLock lock(&mutex_);
    saved_since_ = std::min(saved_since_, now);
    if (now - saved_since_ > options_.known_writers.max_idle_time) {
      never_back.swap(saved_writers_);
    }
    writers_.Tend(now, &forgotten, &just_gone);
  }
  for (const auto& [id, saved] : never_back) {
    log_->ForgetWriter(saved->number);
  }
  for (const std::shared_ptr<WriterSession>& session : just_gone) {
    session->Shrink();
  }
  just_gone.clear();  // They count as away again.
  MutexLock lock(&mutex_);
  writers_.ForgetForBytes(&forgotten);
}

std::map<std::string, WriterSession::Unanswered> ReplayStore::unanswered() const {
  std::map<std::shared_ptr<Table>, WriterSession::Unanswered> by_table;
  {
    MutexLock lock(&mutex_);
    by_table = writers_.unanswered();
  }
  std::map<std::string, WriterSession::Unanswered> by_name;
  for (const auto& [table, unanswered] : by_table) {
    WriterSession::Unanswered& all = by_name[table->name()];
    all.blocks += unanswered.blocks;
    all.bytes += unanswered.bytes;
  }
  return by_name;
}

ReplayStore::WriterInfo ReplayStore::writer_info() const {
  MutexLock lock(&mutex_);
  WriterInfo info;
  info.writers = writers_.size() + static_cast<int64_t>(saved_writers_.size());
  info.held_bytes = writers_.held_bytes();
  return info;
}

}  // namespace waggle
