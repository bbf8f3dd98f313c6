#include "param_server/experiments/experiment_store.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "param_server/experiments/sqlite_database.h"

namespace waggle {
namespace {

// Texts are BLOBs, which hold any bytes. A sequence is never given twice.
constexpr SqliteFormat kFormat = {0x57676c65, 1, R"(
CREATE TABLE experiments (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  id BLOB NOT NULL UNIQUE,
  name BLOB NOT NULL,
  algorithm BLOB NOT NULL,
  environment BLOB NOT NULL,
  seed INTEGER NOT NULL,
  priority INTEGER NOT NULL,
  state BLOB NOT NULL,
  reason BLOB NOT NULL,
  submitted_yaml BLOB NOT NULL,
  effective_yaml BLOB NOT NULL,
  software_version BLOB NOT NULL,
  request_id BLOB NOT NULL,
  output_folder BLOB NOT NULL,
  submitted_us INTEGER NOT NULL,
  started_us INTEGER,
  ended_us INTEGER,
  attempts INTEGER NOT NULL,
  last_overview BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX request_ids ON experiments (request_id) WHERE request_id <> x'';
CREATE TABLE replay_storage (
  experiment INTEGER NOT NULL REFERENCES experiments ON DELETE CASCADE,
  shard INTEGER NOT NULL,
  storage_id BLOB NOT NULL,
  PRIMARY KEY (experiment, shard)
) STRICT, WITHOUT ROWID;
CREATE TABLE events (
  experiment INTEGER NOT NULL REFERENCES experiments ON DELETE CASCADE,
  number INTEGER NOT NULL,
  at_us INTEGER NOT NULL,
  text BLOB NOT NULL,
  PRIMARY KEY (experiment, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE deleted (id BLOB PRIMARY KEY) STRICT, WITHOUT ROWID;
)"};

// Files of this format may be older than these tables.
constexpr char kSettings[] = R"(
CREATE TABLE IF NOT EXISTS settings (
  experiment INTEGER PRIMARY KEY REFERENCES experiments ON DELETE CASCADE,
  text BLOB NOT NULL
) STRICT
)";

constexpr char kPopulations[] = R"(
CREATE TABLE IF NOT EXISTS populations (
  experiment INTEGER PRIMARY KEY REFERENCES experiments ON DELETE CASCADE,
  name BLOB NOT NULL,
  source BLOB NOT NULL,
  serial INTEGER NOT NULL,
  exploited_at INTEGER NOT NULL
) STRICT
)";

// Lists are lines.
constexpr char kLabels[] = R"(
CREATE TABLE IF NOT EXISTS labels (
  experiment INTEGER PRIMARY KEY REFERENCES experiments ON DELETE CASCADE,
  group_id BLOB NOT NULL,
  varied BLOB NOT NULL,
  tags BLOB NOT NULL,
  owner BLOB NOT NULL
) STRICT
)";

// In the order of BindRecord and TakeRecord.
#define WAGGLE_RECORD_COLUMNS                                                                          \
  "id, name, algorithm, environment, seed, priority, state, reason, software_version, output_folder, " \
  "submitted_us, started_us, ended_us, attempts"
#define WAGGLE_RECORD_VALUES "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14"
// The texts follow the record, in their order.
constexpr char kInsert[] = "INSERT INTO experiments (" WAGGLE_RECORD_COLUMNS
                           ", request_id, submitted_yaml, effective_yaml, last_overview) VALUES (" WAGGLE_RECORD_VALUES
                           ", ?15, ?16, ?17, ?18) RETURNING sequence";
constexpr char kUpdate[] =
    "UPDATE experiments SET (" WAGGLE_RECORD_COLUMNS ") = (" WAGGLE_RECORD_VALUES ") WHERE id = ?1 RETURNING sequence";
constexpr char kSelect[] =
    "SELECT sequence, " WAGGLE_RECORD_COLUMNS ", last_overview FROM experiments ORDER BY sequence";
#undef WAGGLE_RECORD_VALUES
#undef WAGGLE_RECORD_COLUMNS

constexpr RunState kStates[] = {RunState::kNoExperiment, RunState::kRunning, RunState::kFinishing, RunState::kSolved,
                                RunState::kLimit,        RunState::kFailed,  RunState::kQueued,    RunState::kStopped};

std::string Named(const std::string& id) {
  return absl::StrCat("\"", absl::CHexEscape(id), "\"");
}

absl::Status NoSuch(const SqliteDatabase& database, const std::string& id) {
  return absl::NotFoundError(absl::StrCat(database.path(), ": there is no experiment ", Named(id)));
}

void BindRecord(const ExperimentRecord& record, SqliteStatement* out) {
  out->Bind(record.id).Bind(record.name).Bind(record.algorithm).Bind(record.environment);
  out->Bind(record.seed).Bind(record.priority).Bind(RunStateName(record.state)).Bind(record.reason);
  out->Bind(record.software_version).Bind(record.output_folder);
  out->Bind(record.submitted).Bind(record.started).Bind(record.ended).Bind(record.attempts);
}

absl::StatusOr<ExperimentRecord> TakeRecord(const SqliteDatabase& database, SqliteStatement* row) {
  ExperimentRecord record;
  record.sequence = row->TakeInteger();
  record.id = row->TakeBytes();
  record.name = row->TakeBytes();
  record.algorithm = row->TakeBytes();
  record.environment = row->TakeBytes();
  record.seed = row->TakeInteger();
  record.priority = row->TakeInteger();
  const std::string state = row->TakeBytes();
  const auto* const known = std::find_if(std::begin(kStates), std::end(kStates),
                                         [&](RunState candidate) { return state == RunStateName(candidate); });
  if (known == std::end(kStates)) {
    return absl::DataLossError(absl::StrCat(database.path(), " is damaged (experiment ", Named(record.id),
                                            " has the state ", Named(state), ")"));
  }
  record.state = *known;
  record.reason = row->TakeBytes();
  record.software_version = row->TakeBytes();
  record.output_folder = row->TakeBytes();
  record.submitted = row->TakeTime();
  record.started = row->TakeOptionalTime();
  record.ended = row->TakeOptionalTime();
  record.attempts = row->TakeInteger();
  return record;
}

std::vector<std::string> Lines(const std::string& text) {
  return absl::StrSplit(text, '\n', absl::SkipEmpty());
}

// True if `query` finds a row.
absl::StatusOr<bool> Finds(SqliteDatabase* database, const char* query, const std::string& value) {
  return SqliteStatement(database, query).Bind(value).Step();
}

absl::StatusOr<bool> IsDeleted(SqliteDatabase* database, const std::string& id) {
  return Finds(database, "SELECT 1 FROM deleted WHERE id = ?1", id);
}

absl::StatusOr<int64_t> SequenceOf(SqliteDatabase* database, const std::string& id) {
  SqliteStatement statement(database, "SELECT sequence FROM experiments WHERE id = ?1");
  WAGGLE_ASSIGN_OR_RETURN(const bool found, statement.Bind(id).Step());
  return found ? absl::StatusOr<int64_t>(statement.TakeInteger()) : NoSuch(*database, id);
}

// Absent for an empty request_id, which many experiments have.
absl::StatusOr<std::optional<std::string>> FindRequest(SqliteDatabase* database, const std::string& request_id) {
  SqliteStatement statement(database, "SELECT id FROM experiments WHERE request_id = ?1 AND request_id <> x''");
  WAGGLE_ASSIGN_OR_RETURN(const bool found, statement.Bind(request_id).Step());
  return found ? std::make_optional(statement.TakeBytes()) : std::nullopt;
}

absl::Status CheckNew(SqliteDatabase* database, const ExperimentRecord& record, const std::string& request_id) {
  WAGGLE_ASSIGN_OR_RETURN(const bool was, IsDeleted(database, record.id));
  WAGGLE_ASSIGN_OR_RETURN(const bool is, Finds(database, "SELECT 1 FROM experiments WHERE id = ?1", record.id));
  if (was || is) {
    return absl::AlreadyExistsError(
        absl::StrCat(database->path(), ": there ", is ? "is" : "was", " an experiment ", Named(record.id)));
  }
  WAGGLE_ASSIGN_OR_RETURN(const std::optional<std::string> repeated, FindRequest(database, request_id));
  if (repeated.has_value()) {
    return absl::AlreadyExistsError(
        absl::StrCat(database->path(), ": there is an experiment of the request ", Named(request_id)));
  }
  return absl::OkStatus();
}

// Runs kInsert or kUpdate, and replaces the replay storage, the settings, the population and the labels. Returns the
// sequence; absent if no row was changed.
absl::StatusOr<std::optional<int64_t>> Put(SqliteDatabase* database, const ExperimentRecord& record,
                                           SqliteStatement* put) {
  SqliteStatement& statement = *put;
  WAGGLE_ASSIGN_OR_RETURN(const bool found, statement.Step());
  if (!found) {
    return std::nullopt;
  }
  const int64_t sequence = statement.TakeInteger();
  WAGGLE_RETURN_IF_ERROR(statement.Run());
  WAGGLE_RETURN_IF_ERROR(
      SqliteStatement(database, "DELETE FROM replay_storage WHERE experiment = ?1").Bind(sequence).Run());
  for (const auto& [shard, storage_id] : record.replay_storage) {
    SqliteStatement insert(database, "INSERT INTO replay_storage VALUES (?1, ?2, ?3)");
    WAGGLE_RETURN_IF_ERROR(insert.Bind(sequence).Bind(shard).Bind(storage_id).Run());
  }
  SqliteStatement settings(database, "INSERT OR REPLACE INTO settings VALUES (?1, ?2)");
  WAGGLE_RETURN_IF_ERROR(settings.Bind(sequence).Bind(record.settings).Run());
  const Membership& member = record.membership;
  SqliteStatement population(database, "INSERT OR REPLACE INTO populations VALUES (?1, ?2, ?3, ?4, ?5)");
  population.Bind(sequence).Bind(member.population).Bind(member.exploit.source);
  WAGGLE_RETURN_IF_ERROR(population.Bind(static_cast<int64_t>(member.exploit.serial)).Bind(member.exploited_at).Run());
  const ExperimentLabels& named = record.labels;
  SqliteStatement labels(database, "INSERT OR REPLACE INTO labels VALUES (?1, ?2, ?3, ?4, ?5)");
  labels.Bind(sequence).Bind(named.group).Bind(absl::StrJoin(named.varied, "\n"));
  WAGGLE_RETURN_IF_ERROR(labels.Bind(absl::StrJoin(named.tags, "\n")).Bind(named.owner).Run());
  return sequence;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ExperimentStore>> ExperimentStore::Open(const std::string& path, int64_t max_events) {
  WAGGLE_ASSIGN_OR_RETURN(std::unique_ptr<SqliteDatabase> database, SqliteDatabase::Open(path, kFormat));
  WAGGLE_RETURN_IF_ERROR(database->Run(kSettings));
  WAGGLE_RETURN_IF_ERROR(database->Run(kPopulations));
  WAGGLE_RETURN_IF_ERROR(database->Run(kLabels));
  return std::unique_ptr<ExperimentStore>(new ExperimentStore(std::move(database), max_events));
}

ExperimentStore::ExperimentStore(std::unique_ptr<SqliteDatabase> database, int64_t max_events)
    : max_events_(max_events), database_(std::move(database)) {}

ExperimentStore::~ExperimentStore() = default;

absl::Status ExperimentStore::Load(const Take& take) {
  MutexLock lock(&mutex_);
  SqliteStatement shards(&*database_, "SELECT experiment, shard, storage_id FROM replay_storage");
  std::map<int64_t, std::map<int64_t, std::string>> storage_of;
  WAGGLE_RETURN_IF_ERROR(shards.Run([&] {
    std::map<int64_t, std::string>& storage = storage_of[shards.TakeInteger()];
    const int64_t shard = shards.TakeInteger();
    storage[shard] = shards.TakeBytes();
  }));
  SqliteStatement texts(&*database_, "SELECT experiment, text FROM settings");
  std::map<int64_t, std::string> settings_of;
  WAGGLE_RETURN_IF_ERROR(texts.Run([&] {
    const int64_t sequence = texts.TakeInteger();
    settings_of[sequence] = texts.TakeBytes();
  }));
  SqliteStatement members(&*database_, "SELECT experiment, name, source, serial, exploited_at FROM populations");
  std::map<int64_t, Membership> membership_of;
  WAGGLE_RETURN_IF_ERROR(members.Run([&] {
    Membership& member = membership_of[members.TakeInteger()];
    member.population = members.TakeBytes();
    member.exploit.source = members.TakeBytes();
    member.exploit.serial = static_cast<uint64_t>(members.TakeInteger());
    member.exploited_at = members.TakeInteger();
  }));
  SqliteStatement labels(&*database_, "SELECT experiment, group_id, varied, tags, owner FROM labels");
  std::map<int64_t, ExperimentLabels> labels_of;
  WAGGLE_RETURN_IF_ERROR(labels.Run([&] {
    ExperimentLabels& named = labels_of[labels.TakeInteger()];
    named.group = labels.TakeBytes();
    named.varied = Lines(labels.TakeBytes());
    named.tags = Lines(labels.TakeBytes());
    named.owner = labels.TakeBytes();
  }));
  SqliteStatement rows(&*database_, kSelect);
  while (true) {
    WAGGLE_ASSIGN_OR_RETURN(const bool found, rows.Step());
    if (!found) {
      return absl::OkStatus();
    }
    WAGGLE_ASSIGN_OR_RETURN(ExperimentRecord record, TakeRecord(*database_, &rows));
    record.replay_storage = std::move(storage_of[record.sequence]);
    record.settings = std::move(settings_of[record.sequence]);
    record.membership = std::move(membership_of[record.sequence]);
    record.labels = std::move(labels_of[record.sequence]);
    if (record.labels.group.empty()) {  // Written before there were groups.
      record.labels.group = record.membership.population;
    }
    take(std::move(record), rows.TakeBytes());
  }
}

absl::StatusOr<ExperimentTexts> ExperimentStore::Texts(const std::string& id) {
  MutexLock lock(&mutex_);
  SqliteStatement row(
      &*database_, "SELECT request_id, submitted_yaml, effective_yaml, last_overview FROM experiments WHERE id = ?1");
  WAGGLE_ASSIGN_OR_RETURN(const bool found, row.Bind(id).Step());
  if (!found) {
    return NoSuch(*database_, id);
  }
  ExperimentTexts texts;
  texts.request_id = row.TakeBytes();
  texts.submitted_yaml = row.TakeBytes();
  texts.effective_yaml = row.TakeBytes();
  texts.last_overview = row.TakeBytes();
  return texts;
}

absl::StatusOr<std::optional<std::string>> ExperimentStore::IdOfRequest(const std::string& request_id) {
  MutexLock lock(&mutex_);
  return FindRequest(&*database_, request_id);
}

absl::StatusOr<int64_t> ExperimentStore::Add(const ExperimentRecord& record, const ExperimentTexts& texts) {
  std::vector<NewExperiment> one = {{record, texts}};
  WAGGLE_RETURN_IF_ERROR(AddAll(&one));
  return one.front().first.sequence;
}

absl::Status ExperimentStore::AddAll(std::vector<NewExperiment>* experiments, const std::string& event) {
  MutexLock lock(&mutex_);
  for (const auto& [record, texts] : *experiments) {
    WAGGLE_RETURN_IF_ERROR(CheckNew(&*database_, record, texts.request_id));
  }
  SqliteTransaction transaction(&*database_);
  WAGGLE_RETURN_IF_ERROR(transaction.Begin());
  for (auto& [record, texts] : *experiments) {
    SqliteStatement insert(&*database_, kInsert);
    BindRecord(record, &insert);
    insert.Bind(texts.request_id).Bind(texts.submitted_yaml).Bind(texts.effective_yaml).Bind(texts.last_overview);
    WAGGLE_ASSIGN_OR_RETURN(const std::optional<int64_t> sequence, Put(&*database_, record, &insert));
    record.sequence = *sequence;
    WAGGLE_RETURN_IF_ERROR(PutEventLocked(record.sequence, record.submitted, event));
  }
  return transaction.Commit();
}

absl::Status ExperimentStore::Update(const ExperimentRecord& record, const std::string& event, absl::Time at) {
  MutexLock lock(&mutex_);
  return UpdateLocked(record, nullptr, event, at);
}

absl::Status ExperimentStore::UpdateClosed(const ExperimentRecord& record, const std::string& last_overview) {
  MutexLock lock(&mutex_);
  return UpdateLocked(record, &last_overview, "", absl::Now());
}

absl::Status ExperimentStore::UpdateLocked(const ExperimentRecord& record, const std::string* last_overview,
                                           const std::string& event, absl::Time at) {
  SqliteTransaction transaction(&*database_);
  WAGGLE_RETURN_IF_ERROR(transaction.Begin());
  SqliteStatement update(&*database_, kUpdate);
  BindRecord(record, &update);
  WAGGLE_ASSIGN_OR_RETURN(const std::optional<int64_t> sequence, Put(&*database_, record, &update));
  if (!sequence.has_value()) {
    return NoSuch(*database_, record.id);
  }
  if (last_overview != nullptr) {
    SqliteStatement overview(&*database_, "UPDATE experiments SET last_overview = ?2 WHERE sequence = ?1");
    WAGGLE_RETURN_IF_ERROR(overview.Bind(*sequence).Bind(*last_overview).Run());
  }
  if (!event.empty()) {
    WAGGLE_RETURN_IF_ERROR(PutEventLocked(*sequence, at, event));
  }
  return transaction.Commit();
}

absl::Status ExperimentStore::Delete(const std::string& id) {
  MutexLock lock(&mutex_);
  WAGGLE_RETURN_IF_ERROR(SequenceOf(&*database_, id).status());
  SqliteTransaction transaction(&*database_);
  WAGGLE_RETURN_IF_ERROR(transaction.Begin());
  WAGGLE_RETURN_IF_ERROR(SqliteStatement(&*database_, "DELETE FROM experiments WHERE id = ?1").Bind(id).Run());
  WAGGLE_RETURN_IF_ERROR(SqliteStatement(&*database_, "INSERT INTO deleted VALUES (?1)").Bind(id).Run());
  return transaction.Commit();
}

absl::StatusOr<std::vector<std::string>> ExperimentStore::Deleted() {
  MutexLock lock(&mutex_);
  SqliteStatement rows(&*database_, "SELECT id FROM deleted");
  std::vector<std::string> ids;
  WAGGLE_RETURN_IF_ERROR(rows.Run([&] { ids.push_back(rows.TakeBytes()); }));
  return ids;
}

absl::Status ExperimentStore::AddEvents(const std::vector<std::pair<std::string, ExperimentEvent>>& events) {
  MutexLock lock(&mutex_);
  SqliteTransaction transaction(&*database_);
  WAGGLE_RETURN_IF_ERROR(transaction.Begin());
  for (const auto& [id, event] : events) {
    const absl::StatusOr<int64_t> sequence = SequenceOf(&*database_, id);
    if (absl::IsNotFound(sequence.status())) {
      continue;
    }
    WAGGLE_RETURN_IF_ERROR(sequence.status());
    WAGGLE_RETURN_IF_ERROR(PutEventLocked(*sequence, event.at, event.text));
  }
  return transaction.Commit();
}

absl::StatusOr<std::vector<ExperimentEvent>> ExperimentStore::Events(const std::string& id, uint64_t after,
                                                                     int64_t limit) {
  MutexLock lock(&mutex_);
  WAGGLE_ASSIGN_OR_RETURN(const int64_t sequence, SequenceOf(&*database_, id));
  SqliteStatement rows(&*database_,
                       "SELECT number, at_us, text FROM events WHERE experiment = ?1 AND number > ?2"
                       " ORDER BY number LIMIT ?3");
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
  rows.Bind(sequence).Bind(static_cast<int64_t>(std::min(after, kMost)));
  rows.Bind(std::max<int64_t>(limit, 0));  // To SQLite a negative number means no limit.
  std::vector<ExperimentEvent> events;
  WAGGLE_RETURN_IF_ERROR(rows.Run([&] {
    ExperimentEvent& event = events.emplace_back();
    event.number = static_cast<uint64_t>(rows.TakeInteger());
    event.at = rows.TakeTime();
    event.text = rows.TakeBytes();
  }));
  return events;
}

absl::Status ExperimentStore::PutEventLocked(int64_t sequence, absl::Time at, const std::string& text) {
  SqliteStatement insert(&*database_,
                         "INSERT INTO events SELECT ?1, COALESCE(MAX(number), 0) + 1, ?2, ?3"
                         " FROM events WHERE experiment = ?1");
  WAGGLE_RETURN_IF_ERROR(insert.Bind(sequence).Bind(at).Bind(text).Run());
  SqliteStatement forget(&*database_,
                         "DELETE FROM events WHERE experiment = ?1"
                         " AND number <= (SELECT MAX(number) FROM events WHERE experiment = ?1) - ?2");
  return forget.Bind(sequence).Bind(max_events_).Run();
}

}  // namespace waggle
