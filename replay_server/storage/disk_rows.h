#pragma once

#include <rocksdb/db.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/executor.h"
#include "common/base/mutex.h"
#include "replay_server/rows/cold_rows.h"
#include "replay_server/storage/cold_database.h"
#include "replay_server/storage/database.h"

namespace waggle {

// Rows on disk. Those of blocks that the journal may write as well are kept in its database, once, whoever comes first.
// All others are kept in one of their own (ColdDatabase). Thread-safe, but one thread at a time writes and deletes.
class DiskRows final : public ColdRows {
 public:
  // `path` is a folder that is not there yet: it is made when it is needed first. `env` outlives this; null for the
  // machine's own.
  DiskRows(std::shared_ptr<Database> database, std::string path, rocksdb::Env* env = nullptr);
  ~DiskRows() override { Close(); }

  absl::Status Write(absl::Span<const ColdBlock> blocks) override ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Read(absl::Span<const ColdBlock> blocks) override ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Delete(absl::Span<const Gone> blocks) override ABSL_LOCKS_EXCLUDED(mutex_);

  // Lets go of both databases: every later call is answered CANCELLED, for blocks may outlive their server.
  void Close() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Open {
    std::shared_ptr<Database> database;
    std::shared_ptr<ColdDatabase> own;  // Null while nothing was written to it.
  };
  // CANCELLED once closed.
  absl::StatusOr<Open> Databases() ABSL_LOCKS_EXCLUDED(mutex_);
  // Makes the one of its own, if there is none.
  absl::Status MakeOwn() ABSL_LOCKS_EXCLUDED(mutex_);

  absl::Status ReadAll(const rocksdb::ReadOptions& options, rocksdb::DB* database, rocksdb::ColumnFamilyHandle* family,
                       const std::vector<const ColdBlock*>& blocks);

  const std::string path_;
  rocksdb::Env* const env_;
  Mutex mutex_;
  std::shared_ptr<Database> database_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<ColdDatabase> own_ ABSL_GUARDED_BY(mutex_);
  Executor readers_;  // Help whoever reads much at a time.
};

}  // namespace waggle
