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
#include "common/api/replay.h"
#include "common/base/mutex.h"
#include "replay_server/rows/chunk_tiers.h"
#include "replay_server/table/table.h"
#include "replay_server/writers/known_writers.h"
#include "replay_server/writers/writer_session.h"

namespace waggle {

// The fate of a saved table if another one of its name is created. Numbered as waggle.v1.SavedPolicy.
enum class SavedPolicy {
  kRefuse = 1,  // The saved one stays as it is, and creating the other one is an error.
  kKeep,        // The saved one is used.
  kReplace,     // The saved one is dropped, with all that it holds.
};

struct ReplayStoreOptions {
  int64_t max_tables = 1024;
  // Of all tables' rows: a table that would take more first loses items of its own, and one that would need more is not
  // made.
  int64_t max_bytes = std::numeric_limits<int64_t>::max();
  // The most that the rows of one experiment's tables may take, those on disk too: each counts for MostRowBytes, and
  // one that would be too much is not made.
  int64_t max_experiment_bytes = std::numeric_limits<int64_t>::max();
  // Of all writers' newest rows, which are held for windows to come. Those of one that needs more are not taken.
  int64_t max_writer_bytes = int64_t{16} << 30;
  KnownWritersOptions known_writers;
  WriterSessionOptions writer;
  SavedPolicy saved = SavedPolicy::kRefuse;  // For those who do not say themselves.

  // INVALID_ARGUMENT where there could be no table, or no writer.
  absl::Status Validate() const;
};

// All tables and writers of a replay server. Thread-safe.
class ReplayStore {
 public:
  // `log` outlives the store; without one all tables are in memory only. `tiers` too; without them there is no table
  // with a memory_limit.
  explicit ReplayStore(ReplayStoreOptions options, TableLog* log = nullptr, ChunkTiers* tiers = nullptr);
  ~ReplayStore();

  // Takes what was saved back in. Called once, before anything else. DATA_LOSS where it contradicts itself.
  absl::Status Restore(std::vector<SavedTable> tables, std::vector<SavedWriter> writers);

  // Returns whether it was made now; false if one is there that is, or was created, equal. FAILED_PRECONDITION, saying
  // what differs, if another one of that name is, or if its durability needs a log and there is none, or if it has a
  // memory_limit and there is nowhere to keep what is past it; RESOURCE_EXHAUSTED if there are too many, or if it could
  // never be full because it would take more memory than all tables may have, or would be too much for its experiment;
  // CANCELLED once closed.
  //
  // Where a table was saved that differs, `policy` says what becomes of it, until somebody has had their way once. One
  // that is replaced is freed by this thread, which takes long where it is large.
  absl::StatusOr<bool> CreateTable(const TableConfig& config, std::optional<SavedPolicy> policy = std::nullopt);
  // See Table::Reconfigure. NOT_FOUND for an unknown table; RESOURCE_EXHAUSTED for one that becomes too large for the
  // memory, as above.
  absl::StatusOr<Table::Reconfigured> Reconfigure(const TableConfig& config, uint64_t generation, bool dry_run);
  // NOT_FOUND, with the tables that there are.
  absl::StatusOr<std::shared_ptr<Table>> FindTable(const std::string& name) const;
  std::vector<std::shared_ptr<Table>> tables() const;
  // Those of an experiment (common/table_config/table_name.h).
  std::vector<std::shared_ptr<Table>> TablesOf(const std::string& experiment_id) const ABSL_LOCKS_EXCLUDED(mutex_);
  // The experiments that have tables.
  std::vector<std::string> Experiments() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Drops the tables of an experiment, from the disk too, and forgets the writers that write to no other: for who uses
  // them it is as if the server had come back without. Returns how many there were. This thread frees them, which takes
  // long where they are large; what is on the disk goes soon after.
  int64_t DropExperiment(const std::string& experiment_id) ABSL_LOCKS_EXCLUDED(mutex_);

  // The session of this writer, a new one if it is unknown. With the incarnation that it is going to claim, a writer
  // that was forgotten goes on behind its last block. NOT_FOUND for an unknown table; INVALID_ARGUMENT for a bad name,
  // no table, or one that is named twice; FAILED_PRECONDITION where the signature differs from a table's or from what
  // the writer said before; RESOURCE_EXHAUSTED where there are too many and none is away.
  absl::StatusOr<std::shared_ptr<WriterSession>> OpenWriter(const std::string& writer_id,
                                                            const std::vector<std::string>& tables,
                                                            const std::vector<ArraySpec>& signature,
                                                            std::optional<uint64_t> incarnation = std::nullopt);

  // Forgets the writers that have been away for too long; asks those that have just gone away to hold little. To be
  // called every now and then with the time.
  void TendWriters(absl::Time now);

  struct WriterInfo {
    int64_t writers = 0;
    int64_t held_bytes = 0;  // See WriterSession::held_bytes.
  };
  WriterInfo writer_info() const;
  // Of those that write to an experiment's tables and are, or were, here since the server began.
  WriterInfo WritersOf(const std::string& experiment_id) const ABSL_LOCKS_EXCLUDED(mutex_);
  // By table: what its writers wait for together, if anything. A block for several tables is counted at each.
  std::map<std::string, WriterSession::Unanswered> unanswered() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Of all tables' rows.
  const MemoryUse& memory() const { return *memory_; }

  // Closes every table.
  void Close();

 private:
  using Forgotten = KnownWriters::Forgotten;

  absl::StatusOr<std::shared_ptr<Table>> FindTableLocked(const std::string& name) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // A writer that was saved and has not come back. It and its rows are freed outside the lock.
  using SavedWriters = std::map<std::string, std::shared_ptr<const SavedWriter>>;

  absl::Status CheckStorage(const TableConfig& config) const;
  // RESOURCE_EXHAUSTED for a table that would be too large for the memory that all may have.
  absl::Status CheckMemory(const TableConfig& config) const;
  // The same of what the tables of its experiment may have, beside the others of these.
  absl::Status CheckExperimentLocked(const TableConfig& config) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckRoomLocked(const TableConfig& config) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // See CreateTable. What was replaced, and what is to be logged, is for after the lock.
  absl::StatusOr<bool> CreateTableLocked(const TableConfig& config, SavedPolicy policy,
                                         std::shared_ptr<Table>* replaced, std::string* warning)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether the table that is there serves whoever wants this one; false if it is to be replaced.
  absl::StatusOr<bool> AcceptTableLocked(const Table& table, const TableConfig& config, SavedPolicy policy,
                                         std::string* warning) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // In the place of the one that is dropped for it, if there is one.
  absl::Status MakeTableLocked(const TableConfig& config, const std::shared_ptr<Table>& replaced)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<std::shared_ptr<WriterSession>> OpenWriterLocked(
      const std::string& writer_id, const std::vector<std::string>& tables, const std::vector<ArraySpec>& signature,
      std::optional<uint64_t> incarnation, Forgotten* forgotten) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Null if it is not known either that it was forgotten.
  std::shared_ptr<const SavedWriter> FindForgottenLocked(const std::string& writer_id, uint64_t incarnation,
                                                         const std::vector<std::shared_ptr<Table>>& tables) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Null if there is none.
  absl::StatusOr<std::shared_ptr<const SavedWriter>> FindSavedLocked(const std::string& writer_id,
                                                                     const std::vector<std::string>& tables,
                                                                     const std::vector<ArraySpec>& signature,
                                                                     const std::vector<Codec>& codecs)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ReplayStoreOptions options_;
  TableLog* const log_;
  ChunkTiers* const tiers_;
  const std::shared_ptr<MemoryUse> memory_;
  const std::shared_ptr<WriterMemory> writer_memory_;
  mutable Mutex mutex_;
  std::map<std::string, std::shared_ptr<Table>> tables_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> saved_tables_ ABSL_GUARDED_BY(mutex_);  // Which nobody has asked for since they were restored.
  KnownWriters writers_ ABSL_GUARDED_BY(mutex_);
  SavedWriters saved_writers_ ABSL_GUARDED_BY(mutex_);
  absl::Time saved_since_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();  // As far as TendWriters has seen.
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace waggle
