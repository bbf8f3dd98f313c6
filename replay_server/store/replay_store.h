#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/threads/mutex.h"
#include "common/replay/ports/replay.h"
#include "replay_server/rows/chunk_tiers.h"
#include "replay_server/table/table.h"
#include "replay_server/writers/known_writers.h"
#include "replay_server/writers/writer_session.h"

namespace waggle {

// The treatment of a saved table if a different one of its name is created. Numbered as waggle.v1.SavedPolicy.
enum class SavedPolicy {
  kRefuse = 1,  // The saved one stays. Creating the other is an error.
  kKeep,        // The saved one is used.
  kReplace,     // The saved one is dropped with its content.
};

struct ReplayStoreOptions {
  int64_t max_tables = 1024;
  // Limit of all tables' rows. Beyond it a table loses its own items. A table that would need more is not made.
  int64_t max_bytes = std::numeric_limits<int64_t>::max();
  // Limit of one experiment's rows, on disk too. Tables count with MostRowBytes; one beyond the limit is not made.
  int64_t max_experiment_bytes = std::numeric_limits<int64_t>::max();
  // Limit of rows that are held for later windows, of all writers. A writer's rows beyond it are refused.
  int64_t max_writer_bytes = int64_t{16} << 30;
  KnownWritersOptions known_writers;
  WriterSessionOptions writer;
  SavedPolicy saved = SavedPolicy::kRefuse;  // If the request does not choose.

  // INVALID_ARGUMENT if no table or no writer would be allowed.
  absl::Status Validate() const;
};

// The tables and writers of a replay server. Thread-safe.
class ReplayStore {
 public:
  // `log` and `tiers` must outlive this. Null: all tables are in memory only, and none can have a memory_limit.
  explicit ReplayStore(ReplayStoreOptions options, TableLog* log = nullptr, ChunkTiers* tiers = nullptr);
  ~ReplayStore();

  // Restores saved tables and writers. Must be called once, before other functions. DATA_LOSS if they are inconsistent.
  absl::Status Restore(std::vector<SavedTable> tables, std::vector<SavedWriter> writers);

  // Returns true if the table was made now, and false if a table is, or was created, equal. FAILED_PRECONDITION if it
  // differs from an existing one (the message says how), if its durability needs a log, or if its memory_limit needs
  // `tiers`. RESOURCE_EXHAUSTED if there are too many tables, or if it could take more memory than all tables or its
  // experiment may have. CANCELLED after Close.
  //
  // `policy` says how to treat a saved table that differs, until a request for that name has succeeded. This thread
  // frees a replaced table, which takes long if it is large.
  absl::StatusOr<bool> CreateTable(const TableConfig& config, std::optional<SavedPolicy> policy = std::nullopt);
  // See Table::Reconfigure. NOT_FOUND if the table is unknown, RESOURCE_EXHAUSTED as above.
  absl::StatusOr<Table::Reconfigured> Reconfigure(const TableConfig& config, uint64_t generation, bool dry_run);
  // NOT_FOUND if the table is unknown; the message lists the tables.
  absl::StatusOr<std::shared_ptr<Table>> FindTable(const std::string& name) const;
  std::vector<std::shared_ptr<Table>> tables() const;
  // The tables of an experiment (common/config/table/table_name.h).
  std::vector<std::shared_ptr<Table>> TablesOf(const std::string& experiment_id) const ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<std::string> Experiments() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Drops an experiment's tables, on disk too, and forgets the writers that have no others, as if restarted without
  // them. Returns the number of tables. This thread frees them, which takes long if they are large; the disk follows
  // soon.
  int64_t DropExperiment(const std::string& experiment_id) ABSL_LOCKS_EXCLUDED(mutex_);

  // Returns the writer's session, a new one if it is unknown. A forgotten writer that gives its incarnation continues
  // after its last block. NOT_FOUND if a table is unknown. INVALID_ARGUMENT for a bad name, no tables or a repeated
  // one. FAILED_PRECONDITION if the signature differs from a table's or from the writer's earlier one.
  // RESOURCE_EXHAUSTED if there are too many writers and all are connected.
  absl::StatusOr<std::shared_ptr<WriterSession>> OpenWriter(const std::string& writer_id,
                                                            const std::vector<std::string>& tables,
                                                            const std::vector<ArraySpec>& signature,
                                                            std::optional<uint64_t> incarnation = std::nullopt);

  // Forgets writers that have been away too long, and shrinks those that have just left. Must be called regularly.
  void TendWriters(absl::Time now);

  struct WriterInfo {
    int64_t writers = 0;
    int64_t held_bytes = 0;  // See WriterSession::held_bytes.
  };
  WriterInfo writer_info() const;
  // The connected and past writers of an experiment's tables since the server started.
  WriterInfo WritersOf(const std::string& experiment_id) const ABSL_LOCKS_EXCLUDED(mutex_);
  // The unanswered blocks of each table's writers. A block for several tables counts at each.
  std::map<std::string, WriterSession::Unanswered> unanswered() const ABSL_LOCKS_EXCLUDED(mutex_);

  // The memory of all tables' rows.
  const MemoryAccount& memory() const { return *memory_; }

  void Close();

 private:
  absl::StatusOr<std::shared_ptr<Table>> FindTableLocked(const std::string& name) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckStorage(const TableConfig& config) const;
  // RESOURCE_EXHAUSTED if the table would be too large for the memory of all tables.
  absl::Status CheckMemory(const TableConfig& config) const;
  // The same for the tables of its experiment.
  absl::Status CheckExperimentLocked(const TableConfig& config) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckRoomLocked(const TableConfig& config) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // See CreateTable. The caller frees `replaced` and logs `warning` after the lock.
  absl::StatusOr<bool> CreateTableLocked(const TableConfig& config, SavedPolicy policy,
                                         std::shared_ptr<Table>* replaced, std::string* warning)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // True if the existing table satisfies the request, false if it must be replaced.
  absl::StatusOr<bool> AcceptTableLocked(const Table& table, const TableConfig& config, SavedPolicy policy,
                                         std::string* warning) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes the table in the place of `replaced`, if not null.
  absl::Status MakeTableLocked(const TableConfig& config, const std::shared_ptr<Table>& replaced)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ReplayStoreOptions options_;
  TableLog* const log_;
  ChunkTiers* const tiers_;
  const std::shared_ptr<MemoryAccount> memory_;
  mutable Mutex mutex_;
  std::map<std::string, std::shared_ptr<Table>> tables_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> saved_tables_ ABSL_GUARDED_BY(mutex_);  // Not requested since they were restored.
  KnownWriters writers_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace waggle
