#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/api/replay.h"
#include "common/base/mutex.h"
#include "replay_server/table/table.h"
#include "replay_server/table/writer_session.h"

namespace waggle {

struct ReplayStoreOptions {
  uint64_t seed = 1;
  int64_t max_tables = 64;
  int64_t max_writers = 4096;                   // Past these the writer that connected longest ago is forgotten.
  int64_t max_block_bytes = int64_t{64} << 20;  // Of one block's rows.
  int64_t max_streams_per_writer = 65536;
};

// All tables and writers of a replay server. Thread-safe.
class ReplayStore {
 public:
  explicit ReplayStore(ReplayStoreOptions options);
  ~ReplayStore();

  // Returns whether it was made now; false if an equal one is there. FAILED_PRECONDITION, saying what differs, if
  // another one of that name is; RESOURCE_EXHAUSTED if there are too many; CANCELLED once closed.
  absl::StatusOr<bool> CreateTable(const TableConfig& config);
  // NOT_FOUND, with the tables that there are.
  absl::StatusOr<std::shared_ptr<Table>> FindTable(const std::string& name) const;
  std::vector<std::shared_ptr<Table>> tables() const;

  // The session of this writer, a new one if it is unknown. NOT_FOUND for an unknown table; INVALID_ARGUMENT for a bad
  // name, no table, or one that is named twice; FAILED_PRECONDITION where the signature differs from a table's or from
  // what the writer said before.
  absl::StatusOr<std::shared_ptr<WriterSession>> OpenWriter(const std::string& writer_id,
                                                            const std::vector<std::string>& tables,
                                                            const std::vector<ArraySpec>& signature);

  // Closes every table.
  void Close();

 private:
  struct Writer {
    std::shared_ptr<WriterSession> session;
    uint64_t opened = 0;  // When it opened last, in openings of all writers.
  };

  absl::StatusOr<std::shared_ptr<Table>> FindTableLocked(const std::string& name) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::shared_ptr<WriterSession> ForgetOneLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ReplayStoreOptions options_;
  mutable Mutex mutex_;
  std::map<std::string, std::shared_ptr<Table>> tables_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Writer> writers_ ABSL_GUARDED_BY(mutex_);
  uint64_t openings_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace waggle
