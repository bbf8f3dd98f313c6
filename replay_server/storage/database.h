#pragma once

#include <rocksdb/db.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace waggle {

// RocksDB's status as ours: RESOURCE_EXHAUSTED for a full disk, DATA_LOSS for damage and for files that are missing,
// UNAVAILABLE for a database that another process has, PERMISSION_DENIED, and FAILED_PRECONDITION for the rest.
absl::Status FromRocksDb(const rocksdb::Status& status);

// One RocksDB database with the column families of a replay server. Thread-safe.
class Database {
 public:
  enum class Family { kMeta, kItems, kBlocks, kWriters };
  static constexpr int kFamilies = 4;

  // `env` outlives it; null for the machine's own. NOT_FOUND if there is none and it is not to be created.
  static absl::StatusOr<std::unique_ptr<Database>> Open(const std::string& path, bool create, rocksdb::Env* env);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  rocksdb::DB* get() { return database_.get(); }
  rocksdb::ColumnFamilyHandle* family(Family family) { return handles_[static_cast<size_t>(family)]; }

  // NOT_FOUND if there is no such key.
  absl::StatusOr<std::string> Get(Family family, absl::string_view key);
  // All or nothing. With `sync` it returns once the disk has it.
  absl::Status Write(rocksdb::WriteBatch* batch, bool sync);
  // After a failed write: tries to make writing possible again.
  absl::Status Resume();
  // Makes a copy in a new folder, as of now: its large files are hard links to this one's.
  absl::Status Copy(const std::string& path);

 private:
  Database() = default;

  std::unique_ptr<rocksdb::DB> database_;
  std::vector<rocksdb::ColumnFamilyHandle*> handles_;
};

}  // namespace waggle
