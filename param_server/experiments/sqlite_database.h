#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

struct sqlite3;
struct sqlite3_stmt;

namespace waggle {

// The required format of a file.
struct SqliteFormat {
  int32_t application_id = 0;  // Identifies files of this program. Not 0.
  int64_t version = 0;         // Above 0.
  const char* schema = "";     // The statements that make the tables of a new file.
};

// An SQLite database, locked against other processes. A transaction is on the disk when its commit returns. Not
// thread-safe. Errors name the file: RESOURCE_EXHAUSTED for a full disk, PERMISSION_DENIED for a file that cannot be
// written to, DATA_LOSS for a damaged file, ALREADY_EXISTS for a value that must be unique and is not.
class SqliteDatabase {
 public:
  // Makes the file if it is missing, and its tables if it is empty. Its folder must exist. FAILED_PRECONDITION for a
  // file of another version or program, which is not changed; UNAVAILABLE if another process uses it.
  static absl::StatusOr<std::unique_ptr<SqliteDatabase>> Open(const std::string& path, const SqliteFormat& format);
  ~SqliteDatabase();
  SqliteDatabase(const SqliteDatabase&) = delete;
  SqliteDatabase& operator=(const SqliteDatabase&) = delete;

  const std::string& path() const { return path_; }

  // Runs statements without parameters, and ignores their rows.
  absl::Status Run(const char* sql);

  // The status of the last call of SQLite, which returned `result`.
  absl::Status ErrorOf(int result) const;

 private:
  friend class SqliteStatement;
  friend class SqliteTransaction;
  SqliteDatabase(std::string path, sqlite3* connection) : path_(std::move(path)), connection_(connection) {}

  absl::Status Check(const SqliteFormat& format, bool* is_new);
  absl::StatusOr<int64_t> Number(const char* sql);

  const std::string path_;
  sqlite3* const connection_;  // Never null.
};

// One statement. The first step returns errors of the constructor and of Bind.
class SqliteStatement {
 public:
  SqliteStatement(SqliteDatabase* database, const char* sql);
  ~SqliteStatement();
  SqliteStatement(const SqliteStatement&) = delete;
  SqliteStatement& operator=(const SqliteStatement&) = delete;

  // Binds ?1, ?2 and so on, one a call. Texts are copied as BLOBs, which may hold any bytes. Times have microseconds.
  SqliteStatement& Bind(int64_t value);
  SqliteStatement& Bind(absl::string_view bytes);
  SqliteStatement& Bind(absl::Time time) { return Bind(absl::ToUnixMicros(time)); }
  SqliteStatement& Bind(const std::optional<absl::Time>& time);

  // Goes to the next row; false if there is none.
  absl::StatusOr<bool> Step();
  // Calls `take` for each row.
  absl::Status Run(const std::function<void()>& take = [] {});

  // The columns of the row from left to right, one a call.
  int64_t TakeInteger();
  std::string TakeBytes();
  absl::Time TakeTime() { return absl::FromUnixMicros(TakeInteger()); }
  std::optional<absl::Time> TakeOptionalTime();

 private:
  SqliteStatement& Bound(int result);

  SqliteDatabase* const database_;
  sqlite3_stmt* statement_ = nullptr;
  int result_;  // Result of the calls before the first step.
  int parameter_ = 0;
  int column_ = 0;
};

// Rolls back all changes since Begin() unless they were committed.
class SqliteTransaction {
 public:
  explicit SqliteTransaction(SqliteDatabase* database) : database_(database) {}
  ~SqliteTransaction();
  SqliteTransaction(const SqliteTransaction&) = delete;
  SqliteTransaction& operator=(const SqliteTransaction&) = delete;

  absl::Status Begin();
  absl::Status Commit();

 private:
  SqliteDatabase* const database_;
};

}  // namespace waggle
