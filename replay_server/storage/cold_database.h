#pragma once

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "replay_server/storage/use_gate.h"

namespace waggle {

// The RocksDB database of rows that are useless after a crash, so it has no write-ahead log. Only one thread at a time
// may write. Any thread may read, through a Use.
class ColdDatabase {
 public:
  // Prevents reopening while it exists. The constructor waits for a reopening to end.
  class Use {
   public:
    explicit Use(ColdDatabase* database) : database_(database) { database_->gate_.Enter(); }
    ~Use() { database_->gate_.Leave(); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

    // UNAVAILABLE if the database could not be reopened.
    absl::StatusOr<rocksdb::DB*> get() const;

   private:
    ColdDatabase* const database_;
  };

  // `path` must not exist yet. `env` must outlive the database; null for the machine's own.
  static absl::StatusOr<std::unique_ptr<ColdDatabase>> Create(const std::string& path, rocksdb::Env* env);
  ColdDatabase(const ColdDatabase&) = delete;
  ColdDatabase& operator=(const ColdDatabase&) = delete;

  // Writes all or nothing. After an error the same batch may be written again: the call tries to make writing possible
  // again, if necessary by reopening the database. Earlier rows can be read once it is open.
  absl::Status Write(rocksdb::WriteBatch* batch);

 private:
  ColdDatabase(std::string path, rocksdb::Env* env) : path_(std::move(path)), env_(env) {}

  absl::Status OpenFiles(bool create);
  absl::Status OpenAnew();
  // Tests if files can be written, before a readable database is closed to reopen it.
  absl::Status TryWriting() const;
  // Copies the rows that are only in the database's buffers to unflushed_. Closing would lose them.
  absl::Status KeepUnflushed();

  const std::string path_;
  rocksdb::Env* const env_;
  UseGate gate_;                           // Shut while the database is reopened.
  std::unique_ptr<rocksdb::DB> database_;  // Null if it could not be reopened.
  absl::Status why_closed_;                // Set if database_ is null.
  // Used by the writer only.
  rocksdb::WriteBatch unflushed_;                // Rows to write again once it is open.
  absl::Time reopen_at_ = absl::InfinitePast();  // The earliest next attempt.
};

}  // namespace waggle
