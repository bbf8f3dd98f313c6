#pragma once

#include <rocksdb/db.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/threads/executor.h"
#include "common/base/threads/mutex.h"
#include "replay_server/rows/cold_rows.h"
#include "replay_server/storage/cold_database.h"
#include "replay_server/storage/database.h"

namespace waggle {

// Rows on disk. Rows of blocks that the journal may write are written once, in its database. Others are in their own
// database (ColdDatabase). Thread-safe, but only one thread at a time may write and delete.
class DiskRows final : public ColdRows {
 public:
  // `path` must not exist yet; it is created on first use. `env` must outlive this; null for the machine's own.
  DiskRows(std::shared_ptr<Database> database, std::string path, rocksdb::Env* env = nullptr);
  ~DiskRows() override { Close(); }

  absl::Status Write(absl::Span<const ColdBlock> blocks) override ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Read(absl::Span<const ColdBlock> blocks) override ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Delete(absl::Span<const Gone> blocks) override ABSL_LOCKS_EXCLUDED(mutex_);

  // Releases both databases. Later calls return CANCELLED: blocks may outlive their server.
  void Close() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Open {
    std::shared_ptr<Database> database;
    std::shared_ptr<ColdDatabase> own;  // Null until the first write to it.
  };
  // CANCELLED after Close.
  absl::StatusOr<Open> Databases() ABSL_LOCKS_EXCLUDED(mutex_);
  // Creates `own_` if it is null.
  absl::Status MakeOwn() ABSL_LOCKS_EXCLUDED(mutex_);

  absl::Status ReadAll(const rocksdb::ReadOptions& options, rocksdb::DB* database, rocksdb::ColumnFamilyHandle* family,
                       const std::vector<const ColdBlock*>& blocks);

  const std::string path_;
  rocksdb::Env* const env_;
  Mutex mutex_;
  std::shared_ptr<Database> database_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<ColdDatabase> own_ ABSL_GUARDED_BY(mutex_);
  Executor readers_;  // Help readers of many blocks.
};

}  // namespace waggle
