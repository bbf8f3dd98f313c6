#pragma once

#include <rocksdb/db.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "replay_server/storage/use_gate.h"

namespace waggle {

// The logger of all replay databases.
std::shared_ptr<rocksdb::Logger> NewRocksDbLog();

// The number of files that a database keeps open, -1 for all: an eighth of the process's limit, so that a large
// database leaves descriptors for connections. RocksDB reopens others as needed.
int MostOpenTables();

// Converts RocksDB's status: RESOURCE_EXHAUSTED if disk, files or memory have run out, DATA_LOSS for damage and missing
// files, UNAVAILABLE if another process has the database, PERMISSION_DENIED, otherwise FAILED_PRECONDITION.
absl::Status FromRocksDb(const rocksdb::Status& status);

// UNAVAILABLE: the database in folder `path` is closed and cannot be reopened yet. `why` may be OK.
absl::Status ClosedDatabaseError(const std::string& path, const absl::Status& why);

// A RocksDB database with the column families of a replay server. Its owner's thread calls Resume, which invalidates
// earlier results of get() and family(). Other threads need a Use, and may then call it concurrently.
class Database {
 public:
  // Prevents reopening while other threads use the database. The constructor waits for a reopening to end.
  class Use {
   public:
    explicit Use(Database* database) : database_(database) { database_->gate_.Enter(); }
    ~Use() { database_->gate_.Leave(); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

    // UNAVAILABLE if the database is not open. It must not be used then.
    absl::Status status() const;
    // After a failed write: tries to make writing possible again without reopening, which only the owner does.
    void TryResume();

   private:
    Database* const database_;
  };

  enum class Family { kMeta, kItems, kBlocks, kWriters };
  static constexpr int kFamilies = 4;

  // `env` must outlive this; null for the machine's own. NOT_FOUND if there is no database and `create` is false.
  static absl::StatusOr<std::unique_ptr<Database>> Open(const std::string& path, bool create, rocksdb::Env* env);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  rocksdb::DB* get() { return database_.get(); }
  // Null if the database could not be reopened. Records made with a null family cannot be written.
  rocksdb::ColumnFamilyHandle* family(Family family) {
    return handles_.empty() ? nullptr : handles_[static_cast<size_t>(family)];
  }

  // NOT_FOUND if the key does not exist.
  absl::StatusOr<std::string> Get(Family family, absl::string_view key);
  // Writes all or nothing. With `sync` it returns once the disk has it.
  absl::Status Write(rocksdb::WriteBatch* batch, bool sync);
  // After a failed write: makes writing possible again, if necessary by reopening. All calls are UNAVAILABLE until
  // then.
  absl::Status Resume();
  // Copies the database to a new folder. Large files are hard links.
  absl::Status Copy(const std::string& path);

 private:
  Database(std::string path, rocksdb::Env* env) : path_(std::move(path)), env_(env) {}

  absl::Status OpenFiles(bool create);
  absl::Status OpenAnew();
  void CloseFiles();
  // Lets compactions move live rows out of old files only while much of the files is garbage. Tables whose oldest rows
  // leave first empty whole files by themselves; moving their rows took two thirds of a large checkpoint's time.
  void TuneCollection();

  const std::string path_;
  rocksdb::Env* const env_;
  absl::Time reopen_at_ = absl::InfinitePast();  // The earliest next attempt: each one reads the log.
  std::unique_ptr<rocksdb::DB> database_;        // Null if it could not be reopened.
  std::vector<rocksdb::ColumnFamilyHandle*> handles_;
  bool collects_ = false;    // Compactions move live rows.
  absl::Status why_closed_;  // Set if database_ is null.
  UseGate gate_;             // Shut while OpenAnew changes the three above.
};

}  // namespace waggle
