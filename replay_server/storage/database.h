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

// What every database of ours logs to.
std::shared_ptr<rocksdb::Logger> NewRocksDbLog();

// How many of its files a database of ours keeps open, -1 for all: an eighth of what the process may have open. RocksDB
// opens others as it needs them. Otherwise a database that has grown would leave no descriptors for connections.
int MostOpenTables();

// RocksDB's status as ours: RESOURCE_EXHAUSTED for a full disk, and where files or memory have
// run out, DATA_LOSS for damage and for files that are missing,
// UNAVAILABLE for a database that another process has, PERMISSION_DENIED, and FAILED_PRECONDITION for the rest.
absl::Status FromRocksDb(const rocksdb::Status& status);

// UNAVAILABLE: the database in the folder `path` had to be closed and cannot be opened again yet. `why` may be OK.
absl::Status ClosedDatabaseError(const std::string& path, const absl::Status& why);

// One RocksDB database with the column families of a replay server. It has one owner, whose thread calls Resume; what
// get() and family() returned before means nothing after that. Others use it by a Use only, and are thread-safe then.
class Database {
 public:
  // Keeps it from being opened anew while others than its owner use it. Its constructor waits while that is under way.
  class Use {
   public:
    explicit Use(Database* database) : database_(database) { database_->gate_.Enter(); }
    ~Use() { database_->gate_.Leave(); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

    // UNAVAILABLE where the database is not open: nothing of it may be asked for then.
    absl::Status status() const;
    // After a failed write: tries to make writing possible again without opening it anew. The owner does that when a
    // write of its own fails.
    void TryResume();

   private:
    Database* const database_;
  };

  enum class Family { kMeta, kItems, kBlocks, kWriters };
  static constexpr int kFamilies = 4;

  // `env` outlives it; null for the machine's own. NOT_FOUND if there is none and it is not to be created.
  static absl::StatusOr<std::unique_ptr<Database>> Open(const std::string& path, bool create, rocksdb::Env* env);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  rocksdb::DB* get() { return database_.get(); }
  // Null while the database could not be opened again: what is made with that cannot be written either.
  rocksdb::ColumnFamilyHandle* family(Family family) {
    return handles_.empty() ? nullptr : handles_[static_cast<size_t>(family)];
  }

  // NOT_FOUND if there is no such key.
  absl::StatusOr<std::string> Get(Family family, absl::string_view key);
  // All or nothing. With `sync` it returns once the disk has it.
  absl::Status Write(rocksdb::WriteBatch* batch, bool sync);
  // After a failed write: tries to make writing possible again, if need be by opening the database anew. Until that
  // succeeds, everything is UNAVAILABLE.
  absl::Status Resume();
  // Makes a copy in a new folder, as of now: its large files are hard links to this one's.
  absl::Status Copy(const std::string& path);

 private:
  Database(std::string path, rocksdb::Env* env) : path_(std::move(path)), env_(env) {}

  absl::Status OpenFiles(bool create);
  absl::Status OpenAnew();
  void CloseFiles();

  const std::string path_;
  rocksdb::Env* const env_;
  absl::Time reopen_at_ = absl::InfinitePast();  // Not before: it reads the log each time.
  std::unique_ptr<rocksdb::DB> database_;        // Null where it could not be opened again.
  std::vector<rocksdb::ColumnFamilyHandle*> handles_;
  absl::Status why_closed_;  // Where it could not.
  UseGate gate_;             // The three above change by OpenAnew only, while it is shut.
};

}  // namespace waggle
