#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/tensor/byte_slices.h"
#include "common/base/threads/stop_token.h"
#include "common/config/table/batch_layout.h"
#include "common/config/table/table_config.h"

// The ports to replay for actors and learners. common/replay has them over gRPC, tests/support/local in one process for
// tests; one conformance suite runs over both.

namespace waggle {

// Consecutive rows of one stream.
struct ChunkInfo {
  uint32_t stream = 0;     // The stream's number in its writer.
  uint64_t first_row = 0;  // Its index in the stream.
  uint32_t rows = 0;
  // No window spans this chunk's start, and no window of a later block lies before it.
  bool begins = false;
};

// A window over a stream, for one item.
struct ItemInfo {
  uint32_t table = 0;  // An index into the writer's tables.
  uint32_t stream = 0;
  uint64_t first_row = 0;
  uint32_t rows = 0;
  double priority = 0;        // Finite, and >= 0 unless the table takes its magnitude.
  uint32_t context_rows = 0;  // Rows before the window that its view's stacks reach.
};

// Rows and items that are inserted together.
struct InsertBlock {
  std::vector<ChunkInfo> chunks;
  std::vector<ItemInfo> items;
  uint64_t policy_version = 0;  // Version of the weights that chose the actions of these rows.
  // Each item gets the highest priority of its table's items, or 1 if the table is empty, instead of its own.
  bool highest_priority = false;
  // For each column of the signature, in order: the rows of all chunks, without gaps.
  ByteSlices data;
  // Bytes of each compressed column, in the signature's order, and chunk. A writer compresses blocks: callers leave
  // this empty. Compressed columns follow the others, chunk by chunk. A part with as many bytes as its rows is not
  // compressed.
  std::vector<uint32_t> compressed_bytes = {};
  // XXH3 of `data`, filled in by a writer.
  std::optional<uint64_t> checksum = std::nullopt;
};

// Appends to tables. One thread at a time.
class ReplayWriter {
 public:
  virtual ~ReplayWriter() = default;

  // Takes a block. Blocks while too much is unacknowledged, because the table is full or its server is away. A stop
  // ends the wait with CANCELLED, but a block that has room is still taken. Other errors are final and name their
  // cause.
  virtual absl::Status Append(InsertBlock block, const StopToken& stop) = 0;

  // Waits until all blocks are acknowledged. DEADLINE_EXCEEDED after `timeout`.
  virtual absl::Status Flush(absl::Duration timeout) = 0;

  struct Stats {
    uint64_t items_inserted = 0;      // Acknowledged.
    uint64_t items_without_rows = 0;  // Refused, because their rows were lost with a server.
    absl::Duration waited;            // For room in Append, including the wait under way.
    bool waiting = false;             // For room, now.
  };
  // Thread-safe.
  virtual Stats stats() const = 0;
};

// A sampled batch. `bytes` has all fields, as `layout` says.
struct SampledBatch {
  std::shared_ptr<const BatchLayout> layout;
  std::shared_ptr<char> bytes;  // Aligned to 64.
  // The table's state at the draw, for importance weights.
  uint64_t table_items = 0;
  double priority_sum = 0;
  double min_probability = 0;
  uint64_t table_incarnation = 0;  // Changes if a restarted server makes the table anew.
  double samples_allowed = 0;      // Samples still allowed after this batch; infinite if unlimited.
  // Lost servers of a sharded buffer. The batch has its full size, with the probabilities of a draw from the others.
  int64_t missing_shards = 0;
  // The time of its first bytes, by SteadyNow(); the infinite future in process.
  absl::Time sampled_at = absl::InfiniteFuture();

  // The field's elements; null if there is no such field.
  const void* Data(absl::string_view field) const;
};

// Samples from one table. One thread at a time.
class ReplaySampler {
 public:
  virtual ~ReplaySampler() = default;

  // Returns the next batch, prefetched if the form can. Blocks until there is one. A stop ends the wait with CANCELLED,
  // but a ready batch is still returned. Other errors are final.
  virtual absl::StatusOr<SampledBatch> Next(const StopToken& stop) = 0;

  struct Stats {
    uint64_t batches = 0;
    absl::Duration waited;       // For batches in Next, including the wait under way.
    bool waiting = false;        // For a batch, now.
    int64_t missing_shards = 0;  // Lost servers of a sharded buffer, now.
  };
  // Thread-safe.
  virtual Stats stats() const = 0;
};

// Outcomes of priority updates.
struct PriorityUpdateCounts {
  uint64_t applied = 0;
  uint64_t stale = 0;    // The key has another item now.
  uint64_t unknown = 0;  // The key has no item.
};

// Sends new priorities back. One thread at a time.
class PriorityUpdater {
 public:
  virtual ~PriorityUpdater() = default;

  // Entry i of each vector belongs to one item. May return before the update is applied. INVALID_ARGUMENT, with nothing
  // applied, for different lengths, or a priority that is negative or not finite.
  virtual absl::Status Update(std::vector<uint64_t> keys, std::vector<uint64_t> generations,
                              std::vector<double> priorities) = 0;

  // Waits until all updates are applied, and as safe as the table's durability promises. DEADLINE_EXCEEDED after
  // `timeout`.
  virtual absl::Status Flush(absl::Duration timeout) = 0;

  // Counts updates that are applied and that safe.
  virtual PriorityUpdateCounts counts() const = 0;
};

struct ReplayWriterOptions {
  std::string writer_id;  // Unique among all writers of the run. A second one is FAILED_PRECONDITION.
  // A writer with the id and number of an earlier one repeats its blocks. Those that the server has applied are not
  // applied again, so that the caller must write equal ones. Absent: a random number. No effect in process.
  std::optional<uint64_t> repeats = std::nullopt;
  std::vector<std::string> tables;
  std::vector<ArraySpec> signature;
  std::vector<ColumnCompression> compression = {};  // The tables'.
  // Unacknowledged blocks and bytes above which Append blocks.
  int64_t max_unacknowledged_blocks = 64;
  int64_t max_unacknowledged_bytes = int64_t{64} << 20;
  // If true, the servers' speed does not decide which one gets a stream, and no stream leaves a lost server: Append
  // waits for it. So equal blocks make equal tables.
  bool awaits_all_shards = false;
};

struct ReplaySamplerOptions {
  TableConfig table;
  int64_t batch_size = 0;
  int64_t prefetch = 4;                          // Batches requested ahead; 0: each is requested when it is needed.
  int64_t max_batch_bytes = int64_t{512} << 20;  // Larger batches are refused.
  // Shown if a table waits for this sampler, such as "learner". May be empty.
  std::string sampler_id = {};
  // Compresses batches that become much shorter; no effect in process.
  Codec compression = Codec::kNone;
  // If true, batches wait for all servers, lost ones too. So equal tables give equal batches, with a prefetch of 0.
  bool awaits_all_shards = false;
};

// The name of a cut: a state of a run, to which it can return.
struct ReplayCut {
  uint64_t number = 0;         // 0: the checkpoint is no part of a cut.
  std::vector<uint64_t> kept;  // The experiment's other cuts that stay. The rest are removed.
  // The tables go on as if they had been restored from the cut, so that later draws are the same in a server that is.
  bool begin_anew = false;
};

// A connection to a replay buffer. Thread-safe.
class ReplayConnection {
 public:
  virtual ~ReplayConnection() = default;

  // Saves the tables of all servers: a checkpoint each, at its own moment, while writers go on. Blocks until they are
  // on the disks. With a cut the checkpoints are kept as its parts. FAILED_PRECONDITION if a server has no folder, or,
  // for a cut, if a table has durability "none". UNAVAILABLE if a server is away. CANCELLED after a stop. UNIMPLEMENTED
  // if the connection has no servers.
  virtual absl::Status Checkpoint(const ReplayCut& /*cut*/, const StopToken& /*stop*/) {
    return absl::UnimplementedError("this replay has no checkpoints");
  }

  // Creates the table unless an equal one exists. FAILED_PRECONDITION if another one has the name.
  virtual absl::Status CreateTable(const TableConfig& config, const StopToken& stop) = 0;
  virtual absl::StatusOr<std::unique_ptr<ReplayWriter>> NewWriter(const ReplayWriterOptions& options) = 0;
  virtual absl::StatusOr<std::unique_ptr<ReplaySampler>> NewSampler(const ReplaySamplerOptions& options) = 0;
  virtual absl::StatusOr<std::unique_ptr<PriorityUpdater>> NewPriorityUpdater(const std::string& table) = 0;
};

}  // namespace waggle
