#include "replay_server/table/replay_store.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/annotate.h"
#include "common/base/nearest_name.h"
#include "common/base/status_macros.h"

namespace waggle {

ReplayStore::ReplayStore(ReplayStoreOptions options) : options_(options) {}

ReplayStore::~ReplayStore() {
  Close();
}

absl::StatusOr<bool> ReplayStore::CreateTable(const TableConfig& config) {
  WAGGLE_RETURN_IF_ERROR(config.Validate());
  MutexLock lock(&mutex_);
  if (closed_) {
    return absl::CancelledError("the replay store is closed");
  }
  const auto found = tables_.find(config.name);
  if (found != tables_.end()) {
    const std::vector<std::string> differences = Differences(found->second->config(), config);
    if (differences.empty()) {
      return false;
    }
    return absl::FailedPreconditionError(
        absl::StrCat("table \"", config.name,
                     "\" is there already and differs (there and wanted): ", absl::StrJoin(differences, "; ")));
  }
  if (static_cast<int64_t>(tables_.size()) >= options_.max_tables) {
    return absl::ResourceExhaustedError(absl::StrCat("there are ", tables_.size(),
                                                     " tables already, which is the most; table \"", config.name,
                                                     "\" would be one more"));
  }
  WAGGLE_ASSIGN_OR_RETURN(tables_[config.name], Table::Create(config, options_.seed));
  return true;
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
  return absl::NotFoundError(absl::StrCat("no table named \"", name, "\"", DidYouMean(name, known), "; there ",
                                          known.empty() ? "is none" : "are ", absl::StrJoin(known, ", ")));
}

std::vector<std::shared_ptr<Table>> ReplayStore::tables() const {
  MutexLock lock(&mutex_);
  std::vector<std::shared_ptr<Table>> tables;
  for (const auto& [name, table] : tables_) {
    tables.push_back(table);
  }
  return tables;
}

absl::StatusOr<std::shared_ptr<WriterSession>> ReplayStore::OpenWriter(const std::string& writer_id,
                                                                       const std::vector<std::string>& tables,
                                                                       const std::vector<ArraySpec>& signature) {
  WAGGLE_RETURN_IF_ERROR(Annotate(ValidateName(writer_id), "writer id"));
  if (tables.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("writer \"", writer_id, "\" names no table"));
  }
  if (std::set<std::string>(tables.begin(), tables.end()).size() != tables.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("writer \"", writer_id, "\" names a table twice: ", absl::StrJoin(tables, ", ")));
  }
  std::shared_ptr<WriterSession> forgotten;  // Freed after the lock.
  MutexLock lock(&mutex_);
  std::vector<std::shared_ptr<Table>> found;
  for (const std::string& name : tables) {
    WAGGLE_ASSIGN_OR_RETURN(std::shared_ptr<Table> table, FindTableLocked(name));
    if (table->config().signature != signature) {
      return absl::FailedPreconditionError(absl::StrCat("writer \"", writer_id, "\" has the columns ",
                                                        DebugString(signature), "; table \"", name, "\" has ",
                                                        DebugString(table->config().signature)));
    }
    found.push_back(std::move(table));
  }
  const auto known = writers_.find(writer_id);
  if (known != writers_.end()) {
    if (known->second.session->tables() != found) {
      return absl::FailedPreconditionError(
          absl::StrCat("writer \"", writer_id, "\" named other tables before than ", absl::StrJoin(tables, ", ")));
    }
    known->second.opened = ++openings_;
    return known->second.session;
  }
  if (static_cast<int64_t>(writers_.size()) >= options_.max_writers) {
    forgotten = ForgetOneLocked();
  }
  WriterSessionOptions session_options;
  session_options.max_block_bytes = options_.max_block_bytes;
  session_options.max_streams = options_.max_streams_per_writer;
  auto session = std::make_shared<WriterSession>(std::move(found), signature, session_options);
  writers_[writer_id] = {session, ++openings_};
  return session;
}

// A writer that is in use holds its session itself; one that is not and was forgotten begins anew.
std::shared_ptr<WriterSession> ReplayStore::ForgetOneLocked() {
  auto oldest = writers_.begin();
  for (auto it = writers_.begin(); it != writers_.end(); ++it) {
    const bool in_use = it->second.session.use_count() > 1;
    const bool oldest_in_use = oldest->second.session.use_count() > 1;
    if (in_use != oldest_in_use ? oldest_in_use : it->second.opened < oldest->second.opened) {
      oldest = it;
    }
  }
  std::shared_ptr<WriterSession> forgotten = std::move(oldest->second.session);
  writers_.erase(oldest);
  return forgotten;
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
