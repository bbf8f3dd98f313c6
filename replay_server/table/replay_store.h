#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/api/replay.h"
#include "replay_server/table/table.h"

namespace waggle {

// One writer's streams on one server: turns its blocks into chunks and items, and applies each block once. It outlives
// the connection, so that a writer that comes back goes on where it was. Thread-safe, though a writer uses one at a
// time.
class WriterSession {
 public:
  struct Result {
    uint64_t items_inserted = 0;
    uint64_t items_without_rows = 0;  // Their windows reach back to rows that this server does not have.
  };
  using Done = std::function<void(absl::StatusOr<Result>)>;

  // Applies block `sequence`: checks it, copies its rows out of `block.data` once, and inserts its items. Calls `done`
  // when they are all in their tables, possibly before returning, possibly much later on another thread.
  //
  // A sequence that is applied already is answered at once and not applied again. INVALID_ARGUMENT, with nothing
  // applied, for a block that can never be right (sizes that do not fit, a stream's rows out of order, a window longer
  // than the table allows or past the last row, a value that is not finite, a bad priority); FAILED_PRECONDITION for a
  // sequence that leaves a gap.
  void Insert(uint64_t sequence, InsertBlock block, Done done);

  // The last sequence that is applied, 0 if none.
  uint64_t applied_sequence() const;
};

struct ReplayStoreOptions {
  uint64_t seed = 1;
  int64_t max_tables = 64;
  int64_t max_writers = 4096;                   // The writer that was silent longest is forgotten first.
  int64_t max_block_bytes = int64_t{64} << 20;  // Of one block's rows.
  int64_t max_streams_per_writer = 65536;
};

// All tables and writers of a replay server. Thread-safe.
class ReplayStore {
 public:
  explicit ReplayStore(ReplayStoreOptions options);
  ~ReplayStore();

  // Returns whether it was made now; false if an equal one is there. FAILED_PRECONDITION, saying what differs, if
  // another one of that name is; RESOURCE_EXHAUSTED if there are too many.
  absl::StatusOr<bool> CreateTable(const TableConfig& config);
  // NOT_FOUND, with the tables that there are.
  absl::StatusOr<std::shared_ptr<Table>> FindTable(const std::string& name) const;
  std::vector<std::shared_ptr<Table>> tables() const;

  // The session of this writer, a new one if it is unknown. NOT_FOUND for an unknown table; FAILED_PRECONDITION where
  // the signature differs from a table's or from what the writer said before.
  absl::StatusOr<std::shared_ptr<WriterSession>> OpenWriter(const std::string& writer_id,
                                                            const std::vector<std::string>& tables,
                                                            const std::vector<ArraySpec>& signature);

  // Closes every table.
  void Close();
};

}  // namespace waggle
