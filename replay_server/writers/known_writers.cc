#include "replay_server/writers/known_writers.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/config/table/table_name.h"
#include "common/replay/blocks/block_compression.h"
#include "replay_server/base/refusal_reasons.h"

namespace waggle {
namespace {

std::vector<std::string> NamesOf(const std::vector<std::shared_ptr<Table>>& tables) {
  std::vector<std::string> names;
  for (const std::shared_ptr<Table>& table : tables) {
    names.push_back(table->name());
  }
  return names;
}

// True for names of this experiment's tables.
auto IsOf(absl::string_view experiment) {
  return [experiment](const std::string& name) { return ExperimentOfTable(name) == experiment; };
}

absl::Status OtherTables(const std::string& id, const std::vector<std::string>& before,
                         const std::vector<std::shared_ptr<Table>>& tables) {
  return Refusal(absl::StatusCode::kFailedPrecondition, reasons::kOtherWriter, "writer \"", id,
                 "\" named other tables before (", absl::StrJoin(before, ", "), ") than ",
                 absl::StrJoin(NamesOf(tables), ", "));
}

// FAILED_PRECONDITION if a table has other columns than `signature`, or if they compress them differently.
absl::Status CheckColumns(const std::string& id, const std::vector<std::shared_ptr<Table>>& tables,
                          const std::vector<ArraySpec>& signature) {
  for (const std::shared_ptr<Table>& table : tables) {
    if (table->created().signature != signature) {
      return Refusal(absl::StatusCode::kFailedPrecondition, reasons::kWrongColumns, "writer \"", id,
                     "\" has the columns ", DebugString(signature), "; table \"", table->name(), "\" has ",
                     DebugString(table->created().signature));
    }
    if (ColumnCodecs(signature, table->created().compression) !=
        ColumnCodecs(signature, tables.front()->created().compression)) {
      return Refusal(absl::StatusCode::kFailedPrecondition, reasons::kWrongColumns, "writer \"", id, "\": tables \"",
                     tables.front()->name(), "\" and \"", table->name(), "\" compress columns differently");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status KnownWritersOptions::Validate() const {
  if (max_writers < 1 || max_idle_writer_bytes < 0 || max_idle_time < absl::ZeroDuration() ||
      max_forgotten_writers < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_writers ", max_writers, ", max_idle_writer_bytes ", max_idle_writer_bytes, ", max_idle_time ",
                     absl::FormatDuration(max_idle_time), ", max_forgotten_writers ", max_forgotten_writers,
                     ": there has to be room for a writer, and none of them is negative"));
  }
  return absl::OkStatus();
}

KnownWriters::KnownWriters(const KnownWritersOptions& options, const WriterSessionOptions& writer, int64_t max_bytes,
                           TableLog* log)
    : options_(options),
      writer_options_(writer),
      memory_(max_bytes),
      log_(log),
      forgotten_(static_cast<size_t>(options.max_forgotten_writers)) {}

void KnownWriters::Restore(SavedWriter writer) {
  std::shared_ptr<const SavedWriter>& known = saved_[writer.id];
  if (known != nullptr) {
    log_->ForgetWriter(known->number);  // The server crashed between two sessions of this writer.
  }
  known = std::make_shared<const SavedWriter>(std::move(writer));
}

absl::StatusOr<std::shared_ptr<WriterSession>> KnownWriters::Open(const std::string& id, Tables tables,
                                                                  const std::vector<ArraySpec>& signature,
                                                                  std::optional<uint64_t> incarnation,
                                                                  Forgotten* forgotten) {
  WAGGLE_RETURN_IF_ERROR(CheckColumns(id, tables, signature));
  const auto found = writers_.find(id);
  std::shared_ptr<WriterSession> known = found != writers_.end() ? found->second.session : nullptr;
  if (known != nullptr && incarnation.has_value() && known->ended() && known->incarnation() != *incarnation) {
    known = nullptr;  // Another writer has the id now. It is forgotten below.
  }
  if (known != nullptr && known->tables() != tables && NamesOf(known->tables()) == NamesOf(tables)) {
    Forget(found, forgotten);  // One of its tables was replaced.
    known = nullptr;
  }
  if (known != nullptr) {
    if (known->tables() != tables) {
      return OtherTables(id, NamesOf(known->tables()), tables);
    }
    SetOpened(id, known);
    return known;
  }
  if (!HasRoom()) {
    return Refusal(absl::StatusCode::kResourceExhausted, reasons::kTooManyWriters, "writer \"", id,
                   "\": this server has ", writers_.size(), " writers that are connected, which is the most");
  }
  // First, because it may fail: then no writer must be forgotten.
  WAGGLE_ASSIGN_OR_RETURN(std::shared_ptr<const SavedWriter> saved, FindSaved(id, tables, signature));
  if (incarnation.has_value()) {
    ForgetEnded(id, *incarnation, forgotten);
  }
  MakeRoom(forgotten);
  if (saved == nullptr && incarnation.has_value()) {
    saved = FindForgotten(id, *incarnation, tables);
  }
  auto session =
      std::make_shared<WriterSession>(std::move(tables), signature, writer_options_, id, log_, saved.get(), memory_);
  if (session->number() != 0) {
    log_->AddWriter(id, session);
  } else if (saved != nullptr && log_ != nullptr) {
    log_->ForgetWriter(saved->number);  // None of its tables is saved now.
  }
  SetOpened(id, session);
  saved_.erase(id);
  if (incarnation.has_value()) {
    forgotten_.Drop(id, *incarnation);
  }
  return session;
}

void KnownWriters::SetOpened(const std::string& id, const std::shared_ptr<WriterSession>& session) {
  Writer& writer = writers_[id];
  writer.session = session;
  writer.opened = ++openings_;
  writer.away_since = absl::InfiniteFuture();
}

std::shared_ptr<const SavedWriter> KnownWriters::FindForgotten(const std::string& id, uint64_t incarnation,
                                                               const Tables& tables) const {
  const std::optional<ForgottenWriters::Writer> known = forgotten_.Find(id, incarnation, tables);
  if (!known.has_value()) {
    return nullptr;
  }
  auto saved = std::make_shared<SavedWriter>();
  saved->number = log_ != nullptr ? log_->NewNumber() : 0;
  saved->id = id;
  saved->incarnation = incarnation;
  saved->sequence = known->sequence;
  saved->counts = known->counts;
  return saved;
}

absl::StatusOr<std::shared_ptr<const SavedWriter>> KnownWriters::FindSaved(const std::string& id, const Tables& tables,
                                                                           const std::vector<ArraySpec>& signature) {
  const auto found = saved_.find(id);
  if (found == saved_.end()) {
    return std::shared_ptr<const SavedWriter>();
  }
  if (found->second->signature != signature ||
      found->second->codecs != ColumnCodecs(signature, tables.front()->created().compression)) {
    // All of its tables were replaced by tables of other rows.
    log_->ForgetWriter(found->second->number);
    saved_.erase(found);
    return std::shared_ptr<const SavedWriter>();
  }
  if (found->second->tables != NamesOf(tables)) {
    return OtherTables(id, found->second->tables, tables);
  }
  auto copy = std::make_shared<SavedWriter>(*found->second);
  // Marks of replaced tables no longer count. The writer's rows may be out of place for the new tables.
  const size_t marks = copy->marks.size();
  copy->marks.erase(std::remove_if(copy->marks.begin(), copy->marks.end(),
                                   [&tables](const auto& mark) {
                                     return std::none_of(tables.begin(), tables.end(), [&mark](const auto& table) {
                                       return table->name() == mark.first && table->number() == mark.second.table;
                                     });
                                   }),
                    copy->marks.end());
  if (copy->marks.size() < marks) {
    copy->streams.clear();
  }
  return std::shared_ptr<const SavedWriter>(std::move(copy));
}

void KnownWriters::MakeRoom(Forgotten* forgotten) {
  if (const auto first = LongestAway(); Sessions() >= options_.max_writers && first != writers_.end()) {
    Forget(first, forgotten);
  }
  ForgetForBytes(forgotten);
}

void KnownWriters::ForgetThoseOf(absl::string_view experiment, Forgotten* forgotten) {
  for (auto it = writers_.begin(); it != writers_.end();) {
    const auto here = it++;
    const std::vector<std::string> own = NamesOf(here->second.session->tables());
    if (std::all_of(own.begin(), own.end(), IsOf(experiment))) {
      Forget(here, forgotten);
    }
  }
  for (auto it = saved_.begin(); it != saved_.end();) {
    const auto here = it++;
    const std::vector<std::string>& own = here->second->tables;
    if (std::all_of(own.begin(), own.end(), IsOf(experiment))) {
      ForgetSaved(here, forgotten);
    }
  }
}

void KnownWriters::ForgetEnded(const std::string& id, uint64_t incarnation, Forgotten* forgotten) {
  const auto found = writers_.find(id);
  if (found != writers_.end() && found->second.session->ended() &&
      found->second.session->incarnation() != incarnation) {
    Forget(found, forgotten);
  }
}

void KnownWriters::Forget(Writers::iterator writer, Forgotten* forgotten) {
  if (writer->second.away() || writer->second.session->ended()) {  // Otherwise a stream still uses it.
    forgotten_.Add(writer->first, *writer->second.session);
  }
  forgotten->push_back(std::move(writer->second.session));
  writers_.erase(writer);
}

void KnownWriters::ForgetSaved(SavedWriters::iterator writer, Forgotten* forgotten) {
  log_->ForgetWriter(writer->second->number);
  forgotten->push_back(std::move(writer->second));
  saved_.erase(writer);
}

KnownWriters::Writers::iterator KnownWriters::LongestAway() {
  const auto key = [](const Writer& writer) { return std::make_tuple(writer.away_since, writer.opened); };
  auto first = writers_.end();
  for (auto it = writers_.begin(); it != writers_.end(); ++it) {
    if (it->second.away() && (first == writers_.end() || key(it->second) < key(first->second))) {
      first = it;
    }
  }
  return first;
}

void KnownWriters::ForgetForBytes(Forgotten* forgotten) {
  int64_t bytes = 0;
  for (const auto& [id, writer] : writers_) {
    bytes += writer.away() ? writer.session->held_bytes() : 0;
  }
  while (bytes > options_.max_idle_writer_bytes) {
    const auto first = LongestAway();
    if (first == writers_.end()) {
      return;
    }
    bytes -= first->second.session->held_bytes();
    Forget(first, forgotten);
  }
}

void KnownWriters::Tend(absl::Time now, Forgotten* forgotten, std::vector<std::shared_ptr<WriterSession>>* just_gone) {
  saved_since_ = std::min(saved_since_, now);
  while (!saved_.empty() && now - saved_since_ > options_.max_idle_time) {
    ForgetSaved(saved_.begin(), forgotten);
  }
  for (auto it = writers_.begin(); it != writers_.end();) {
    Writer& writer = it->second;
    const auto here = it++;
    if (!writer.away()) {
      writer.away_since = absl::InfiniteFuture();
    } else if (writer.away_since == absl::InfiniteFuture()) {
      writer.away_since = now;
      just_gone->push_back(writer.session);
    } else if (now - writer.away_since > options_.max_idle_time) {
      Forget(here, forgotten);
    }
  }
}

int64_t KnownWriters::held_bytes() const {
  int64_t bytes = 0;
  for (const auto& [id, writer] : writers_) {
    bytes += writer.session->held_bytes();
  }
  return bytes;
}

std::pair<int64_t, int64_t> KnownWriters::CountThoseOf(absl::string_view experiment) const {
  std::pair<int64_t, int64_t> count_and_bytes;
  for (const auto& [id, writer] : writers_) {
    const std::vector<std::string> own = NamesOf(writer.session->tables());
    if (std::any_of(own.begin(), own.end(), IsOf(experiment))) {
      ++count_and_bytes.first;
      count_and_bytes.second += writer.session->held_bytes();
    }
  }
  return count_and_bytes;
}

// Copies of sessions would make writers that are away look connected.
std::map<std::string, WriterSession::Unanswered> KnownWriters::unanswered() const {
  std::map<std::string, WriterSession::Unanswered> by_table;
  for (const auto& [id, writer] : writers_) {
    const WriterSession::Unanswered unanswered = writer.session->unanswered();
    if (unanswered.blocks == 0) {
      continue;
    }
    for (const std::shared_ptr<Table>& table : writer.session->tables()) {
      WriterSession::Unanswered& all = by_table[table->name()];
      all.blocks += unanswered.blocks;
      all.bytes += unanswered.bytes;
    }
  }
  return by_table;
}

}  // namespace waggle
