#include "param_server/experiments/sqlite_database.h"

#include <sqlite3.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/file.h"
#include "common/base/out_of_memory.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

absl::StatusCode CodeOf(int result, int system_error) {
  switch (result & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return absl::StatusCode::kUnavailable;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return absl::StatusCode::kDataLoss;
    case SQLITE_FULL:
    case SQLITE_NOMEM:
      return absl::StatusCode::kResourceExhausted;
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return absl::StatusCode::kPermissionDenied;
    case SQLITE_CONSTRAINT:
      return absl::StatusCode::kAlreadyExists;
    case SQLITE_TOOBIG:
      return absl::StatusCode::kInvalidArgument;
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
      return FileError(system_error, "", "").code();
    default:
      return absl::StatusCode::kInternal;
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<SqliteDatabase>> SqliteDatabase::Open(const std::string& path,
                                                                     const SqliteFormat& format) {
  // SQLite does not report why it cannot make a file. Closing an existing one would free locks of this process.
  if (const absl::Status made = File::Create(path).status(); !made.ok() && !absl::IsAlreadyExists(made)) {
    return made;
  }
  sqlite3* connection = nullptr;
  errno = 0;
  const int result = sqlite3_open_v2(path.c_str(), &connection,
                                     SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
  if (connection == nullptr) {
    EndOutOfMemory();
  }
  auto database = std::unique_ptr<SqliteDatabase>(new SqliteDatabase(path, connection));
  if (result != SQLITE_OK) {
    return database->ErrorOf(result);
  }
  // SQLite opens a file for reading if it cannot open it for writing.
  if (sqlite3_db_readonly(connection, "main") == 1) {
    return absl::PermissionDeniedError(absl::StrCat(path, ": cannot write to this file"));
  }
  // The first transaction takes the lock, which is kept. The other two pragmas guard against damaged files.
  WAGGLE_RETURN_IF_ERROR(
      database->Run("PRAGMA locking_mode = EXCLUSIVE; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;"
                    "BEGIN EXCLUSIVE; COMMIT"));
  bool is_new = false;
  WAGGLE_RETURN_IF_ERROR(database->Check(format, &is_new));
  // A write-ahead log needs one sync a transaction; a rollback journal needs several. FULL: each commit syncs.
  WAGGLE_RETURN_IF_ERROR(
      database->Run("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON"));
  if (is_new) {
    SqliteTransaction transaction(database.get());
    WAGGLE_RETURN_IF_ERROR(transaction.Begin());
    WAGGLE_RETURN_IF_ERROR(database->Run(format.schema));
    WAGGLE_RETURN_IF_ERROR(database->Run(
        absl::StrCat("PRAGMA application_id = ", format.application_id, "; PRAGMA user_version = ", format.version)
            .c_str()));
    WAGGLE_RETURN_IF_ERROR(transaction.Commit());
  }
  return database;
}

SqliteDatabase::~SqliteDatabase() {
  sqlite3_close(connection_);
}

absl::Status SqliteDatabase::Check(const SqliteFormat& format, bool* is_new) {
  WAGGLE_ASSIGN_OR_RETURN(const int64_t application_id, Number("PRAGMA application_id"));
  WAGGLE_ASSIGN_OR_RETURN(const int64_t version, Number("PRAGMA user_version"));
  if (application_id == 0 && version == 0) {
    WAGGLE_ASSIGN_OR_RETURN(const int64_t tables, Number("SELECT COUNT(*) FROM sqlite_schema"));
    *is_new = tables == 0;
  }
  if (*is_new) {
    return absl::OkStatus();
  }
  if (application_id != format.application_id) {
    return absl::FailedPreconditionError(absl::StrCat(path_, " is the database of another program (application_id is ",
                                                      application_id, ", wanted ", format.application_id,
                                                      "); move it away to begin anew"));
  }
  if (version != format.version) {
    return absl::FailedPreconditionError(absl::StrCat(path_, " has format ", version, ", of another version of Waggle",
                                                      "; this one reads format ", format.version));
  }
  SqliteStatement check(this, "PRAGMA quick_check(1)");
  WAGGLE_ASSIGN_OR_RETURN(const bool checked, check.Step());
  const std::string finding = checked ? check.TakeBytes() : "quick_check returned no row";
  if (finding != "ok") {
    return absl::DataLossError(absl::StrCat(path_, " is damaged (", finding, "); move it away to begin anew"));
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> SqliteDatabase::Number(const char* sql) {
  SqliteStatement statement(this, sql);
  WAGGLE_ASSIGN_OR_RETURN(const bool found, statement.Step());
  return found ? statement.TakeInteger() : 0;
}

absl::Status SqliteDatabase::Run(const char* sql) {
  errno = 0;
  const int result = sqlite3_exec(connection_, sql, nullptr, nullptr, nullptr);
  return result == SQLITE_OK ? absl::OkStatus() : ErrorOf(result);
}

absl::Status SqliteDatabase::ErrorOf(int result) const {
  // Not sqlite3_system_errno, which misses errors of a commit.
  const int system_error = errno;
  const absl::StatusCode code = CodeOf(result, system_error);
  switch (result & 0xff) {
    case SQLITE_BUSY:
      return absl::Status(code, absl::StrCat(path_, ": another process uses this file"));
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return absl::Status(
          code, absl::StrCat(path_, " is damaged (", sqlite3_errmsg(connection_), "); move it away to begin anew"));
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
      return absl::Status(code, absl::StrCat(path_, ": ", sqlite3_errmsg(connection_),
                                             system_error == 0 ? "" : absl::StrCat(" (", strerror(system_error), ")")));
    default:
      return absl::Status(code, absl::StrCat(path_, ": ", sqlite3_errmsg(connection_)));
  }
}

SqliteStatement::SqliteStatement(SqliteDatabase* database, const char* sql)
    : database_(database), result_(sqlite3_prepare_v2(database->connection_, sql, -1, &statement_, nullptr)) {}

SqliteStatement::~SqliteStatement() {
  sqlite3_finalize(statement_);  // May be null.
}

SqliteStatement& SqliteStatement::Bound(int result) {
  result_ = result_ == SQLITE_OK ? result : result_;
  return *this;
}

SqliteStatement& SqliteStatement::Bind(int64_t value) {
  return result_ == SQLITE_OK ? Bound(sqlite3_bind_int64(statement_, ++parameter_, value)) : *this;
}

SqliteStatement& SqliteStatement::Bind(absl::string_view bytes) {
  // A null pointer would be bound as NULL.
  const char* const data = bytes.data() == nullptr ? "" : bytes.data();
  return result_ == SQLITE_OK
             ? Bound(sqlite3_bind_blob64(statement_, ++parameter_, data, bytes.size(), SQLITE_TRANSIENT))
             : *this;
}

SqliteStatement& SqliteStatement::Bind(const std::optional<absl::Time>& time) {
  if (time.has_value()) {
    return Bind(*time);
  }
  return result_ == SQLITE_OK ? Bound(sqlite3_bind_null(statement_, ++parameter_)) : *this;
}

absl::StatusOr<bool> SqliteStatement::Step() {
  if (result_ != SQLITE_OK) {
    return database_->ErrorOf(result_);
  }
  column_ = 0;
  errno = 0;
  const int result = sqlite3_step(statement_);
  if (result != SQLITE_ROW && result != SQLITE_DONE) {
    return database_->ErrorOf(result);
  }
  return result == SQLITE_ROW;
}

absl::Status SqliteStatement::Run(const std::function<void()>& take) {
  while (true) {
    WAGGLE_ASSIGN_OR_RETURN(const bool found, Step());
    if (!found) {
      return absl::OkStatus();
    }
    take();
  }
}

int64_t SqliteStatement::TakeInteger() {
  return sqlite3_column_int64(statement_, column_++);
}

std::string SqliteStatement::TakeBytes() {
  const int column = column_++;
  const void* const data = sqlite3_column_blob(statement_, column);  // Null for no bytes.
  return data == nullptr ? "" : std::string(static_cast<const char*>(data), sqlite3_column_bytes(statement_, column));
}

std::optional<absl::Time> SqliteStatement::TakeOptionalTime() {
  if (sqlite3_column_type(statement_, column_) == SQLITE_NULL) {
    ++column_;
    return std::nullopt;
  }
  return TakeTime();
}

SqliteTransaction::~SqliteTransaction() {
  // An error may have rolled it back already.
  if (sqlite3_get_autocommit(database_->connection_) == 0) {
    database_->Run("ROLLBACK").IgnoreError();
  }
}

absl::Status SqliteTransaction::Begin() {
  return database_->Run("BEGIN IMMEDIATE");
}

absl::Status SqliteTransaction::Commit() {
  return database_->Run("COMMIT");
}

}  // namespace waggle
