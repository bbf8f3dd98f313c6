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

// What a file has to hold.
struct SqliteFormat {
  int32_t application_id = 0;  // By which a file of ours is known. Not 0.
  int64_t version = 0;         // Above 0.
  const char* schema = "";     // The statements that make a new one.
};

// An SQLite database that no other process uses at the same time. A transaction is on the disk when its commit returns.
// Not thread-safe. Every error names the file: RESOURCE_EXHAUSTED for a full disk, PERMISSION_DENIED for what cannot be
// written to, DATA_LOSS for what is damaged, ALREADY_EXISTS for a value that has to be unique and is not.
class SqliteDatabase {
 public:
  // Makes the file where it is missing, or empty; its folder has to be there. DATA_LOSS for one that is damaged;
  // FAILED_PRECONDITION for one of another version or program, which stays as it is; UNAVAILABLE where another process
  // uses it.
  static absl::StatusOr<std::unique_ptr<SqliteDatabase>> Open(const std::string& path, const SqliteFormat& format);
  ~SqliteDatabase();
  SqliteDatabase(const SqliteDatabase&) = delete;
  SqliteDatabase& operator=(const SqliteDatabase&) = delete;

  const std::string& path() const { return path_; }

  // Runs statements that have no parameters, and drops what they return.
  absl::Status Run(const char* sql);

  // The status for the last call of SQLite, which returned `result`.
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

// One statement. What goes wrong before the first step is returned by that step.
class SqliteStatement {
 public:
  SqliteStatement(SqliteDatabase* database, const char* sql);
  ~SqliteStatement();
  SqliteStatement(const SqliteStatement&) = delete;
  SqliteStatement& operator=(const SqliteStatement&) = delete;

  // The values of ?1, ?2 and so on, in this order. Texts are copied and may hold any bytes: they are BLOBs. Times are
  // kept to the microsecond.
  SqliteStatement& Bind(int64_t value);
  SqliteStatement& Bind(absl::string_view bytes);
  SqliteStatement& Bind(absl::Time time) { return Bind(absl::ToUnixMicros(time)); }
  SqliteStatement& Bind(const std::optional<absl::Time>& time);

  // Goes to the next row; false: there is none.
  absl::StatusOr<bool> Step();
  // Goes through all rows, and calls `take` for each.
  absl::Status Run(const std::function<void()>& take = [] {});

  // The columns of this row, from the left to the right, one a call.
  int64_t TakeInteger();
  std::string TakeBytes();
  absl::Time TakeTime() { return absl::FromUnixMicros(TakeInteger()); }
  std::optional<absl::Time> TakeOptionalTime();

 private:
  SqliteStatement& Bound(int result);

  SqliteDatabase* const database_;
  sqlite3_stmt* statement_ = nullptr;
  int result_;  // Of what was done before the first step.
  int parameter_ = 0;
  int column_ = 0;
};

// Rolls back what was done since Begin() unless it was committed.
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
