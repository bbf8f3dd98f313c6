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

// The RocksDB database of rows that mean nothing after a crash, and so are not written ahead. It has one writer, a
// thread at a time; any thread may read, by a Use.
class ColdDatabase {
 public:
  // Keeps it from being opened anew while somebody reads. Its constructor waits while that is under way.
  class Use {
   public:
    explicit Use(ColdDatabase* database) : database_(database) { database_->gate_.Enter(); }
    ~Use() { database_->gate_.Leave(); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

    // UNAVAILABLE while it could not be opened again.
    absl::StatusOr<rocksdb::DB*> get() const;

   private:
    ColdDatabase* const database_;
  };

  // Makes it; `path` is a folder that is not there yet. `env` outlives it; null for the machine's own.
  static absl::StatusOr<std::unique_ptr<ColdDatabase>> Create(const std::string& path, rocksdb::Env* env);
  ColdDatabase(const ColdDatabase&) = delete;
  ColdDatabase& operator=(const ColdDatabase&) = delete;

  // All or nothing. After an error the same may be written again: what makes writing possible again, if need be opening
  // the database anew, is tried here. Whatever was written before can be read as soon as it is open again.
  absl::Status Write(rocksdb::WriteBatch* batch);

 private:
  ColdDatabase(std::string path, rocksdb::Env* env) : path_(std::move(path)), env_(env) {}

  absl::Status OpenFiles(bool create);
  absl::Status OpenAnew();
  // Whether files can be written at all: what can still be read is not given away for nothing.
  absl::Status TryWriting() const;
  // Sets unflushed_ to what is in the database's buffers only, and so would be gone once it is closed.
  absl::Status KeepUnflushed();

  const std::string path_;
  rocksdb::Env* const env_;
  UseGate gate_;                           // What readers use changes while it is shut.
  std::unique_ptr<rocksdb::DB> database_;  // Null while it could not be opened again.
  absl::Status why_closed_;                // Then.
  // The writer's own.
  rocksdb::WriteBatch unflushed_;                // To be written again once it is open.
  absl::Time reopen_at_ = absl::InfinitePast();  // Not before.
};

}  // namespace waggle
