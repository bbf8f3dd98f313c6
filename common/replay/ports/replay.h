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

// Consecutive rows of one stream, as they are written.
struct ChunkInfo {
  uint32_t stream = 0;     // The stream's number in its writer.
  uint64_t first_row = 0;  // Its index in the stream.
  uint32_t rows = 0;
  // An episode begins: no window spans this chunk's start, and no window of a later block lies before it.
  bool begins = false;
};

// A window over a stream, which becomes an item.
struct ItemInfo {
  uint32_t table = 0;  // An index into the writer's tables.
  uint32_t stream = 0;
  uint64_t first_row = 0;
  uint32_t rows = 0;
  double priority = 0;        // Finite, and >= 0 unless the table takes its magnitude.
  uint32_t context_rows = 0;  // Rows before the window that belong to it too: the reach of its view's stacks.
};

// The rows and items that a writer hands over together.
struct InsertBlock {
  std::vector<ChunkInfo> chunks;
  std::vector<ItemInfo> items;
  uint64_t policy_version = 0;  // Version of the weights that chose the actions of these rows.
  // Each item gets the highest priority of its table's items instead of its own; 1 if the table is empty.
  bool highest_priority = false;
  // For each column of the signature, in its order: the rows of all chunks in their order, with nothing between.
  ByteSlices data;
  // If the tables compress columns, the writer itself puts these behind the others, chunk by chunk, and fills in the
  // bytes of each: for each such column, in the signature's order, and then for each chunk. As many bytes as without
  // compression means that they are not compressed. Blocks handed to a writer are not compressed.
  std::vector<uint32_t> compressed_bytes = {};
  // XXH3 of `data`; a writer fills it in.
  std::optional<uint64_t> checksum = std::nullopt;
};

// Appends to tables. One thread at a time.
class ReplayWriter {
 public:
  virtual ~ReplayWriter() = default;

  // Hands over a block. Blocks while too much is unacknowledged, because the table is full for the moment or its server
  // is away. A stop ends the wait with CANCELLED; a block that has room is taken all the same. Any other error is final
  // and names its cause.
  virtual absl::Status Append(InsertBlock block, const StopToken& stop) = 0;

  // Waits until every block so far is acknowledged. DEADLINE_EXCEEDED if that takes longer than `timeout`.
  virtual absl::Status Flush(absl::Duration timeout) = 0;

  struct Stats {
    uint64_t items_inserted = 0;      // Acknowledged.
    uint64_t items_without_rows = 0;  // Refused: their rows were lost with the server that held them.
    absl::Duration waited;            // For room in Append, including the wait under way.
    bool waiting = false;             // It waits for room now.
  };
  // Any thread.
  virtual Stats stats() const = 0;
};

// A sampled batch: its fields in one block of bytes, as `layout` says.
struct SampledBatch {
  std::shared_ptr<const BatchLayout> layout;
  std::shared_ptr<char> bytes;  // Aligned to 64.
  // The table's when this was sampled; importance weights need them.
  uint64_t table_items = 0;
  double priority_sum = 0;
  double min_probability = 0;
  uint64_t table_incarnation = 0;  // Changes if the table is made anew after a restart of its server.
  double samples_allowed = 0;      // Samples still allowed after this batch; infinite if unlimited.
  // Lost servers of a sharded buffer that this batch does without. It has its full size, and its probabilities are
  // those of a draw from the other servers.
  int64_t missing_shards = 0;
  // By SteadyNow(), when its first bytes came; the infinite future if it was made in this process.
  absl::Time sampled_at = absl::InfiniteFuture();

  // The field's elements; null if there is no such field.
  const void* Data(absl::string_view field) const;
};

// Samples from one table. One thread at a time.
class ReplaySampler {
 public:
  virtual ~ReplaySampler() = default;

  // The next batch, prefetched if the form can. Blocks until there is one. A stop ends the wait with CANCELLED; a batch
  // that is there is returned all the same. Any other error is final.
  virtual absl::StatusOr<SampledBatch> Next(const StopToken& stop) = 0;

  struct Stats {
    uint64_t batches = 0;
    absl::Duration waited;       // For batches in Next, including the wait under way.
    bool waiting = false;        // It waits for a batch now.
    int64_t missing_shards = 0;  // Servers of a sharded buffer that are lost now.
  };
  // Any thread.
  virtual Stats stats() const = 0;
};

// Outcomes of priority updates.
struct PriorityUpdateCounts {
  uint64_t applied = 0;
  uint64_t stale = 0;    // The key holds another item by now.
  uint64_t unknown = 0;  // The key holds no item.
};

// Sends new priorities back. One thread at a time.
class PriorityUpdater {
 public:
  virtual ~PriorityUpdater() = default;

  // Entry i of each vector belongs to one item. May return before the update is applied. INVALID_ARGUMENT, with nothing
  // applied, for vectors of different lengths or a priority that is negative or not finite.
  virtual absl::Status Update(std::vector<uint64_t> keys, std::vector<uint64_t> generations,
                              std::vector<double> priorities) = 0;

  // Waits until all updates so far are applied, and as safe as the table's durability promises. DEADLINE_EXCEEDED if
  // that takes longer than `timeout`.
  virtual absl::Status Flush(absl::Duration timeout) = 0;

  // Counts of all updates that are applied and that safe.
  virtual PriorityUpdateCounts counts() const = 0;
};

struct ReplayWriterOptions {
  std::string writer_id;  // Unique among all writers of the run: a second one is FAILED_PRECONDITION.
  std::vector<std::string> tables;
  std::vector<ArraySpec> signature;
  std::vector<ColumnCompression> compression = {};  // The tables'.
  // Unacknowledged blocks and bytes that Append lets gather before it blocks.
  int64_t max_unacknowledged_blocks = 64;
  int64_t max_unacknowledged_bytes = int64_t{64} << 20;
};

struct ReplaySamplerOptions {
  TableConfig table;
  int64_t batch_size = 0;
  int64_t prefetch = 4;                          // Batches asked for ahead; 0: each is asked for when it is needed.
  int64_t max_batch_bytes = int64_t{512} << 20;  // Larger batches are refused.
  // Shown as the sampler that a table waits for, such as "learner"; may be empty.
  std::string sampler_id = {};
  // Compresses batches that it makes much shorter; of no effect in process.
  Codec compression = Codec::kNone;
};

// The way to a replay buffer. Thread-safe.
class ReplayConnection {
 public:
  virtual ~ReplayConnection() = default;

  // Creates the table unless an equal one is there. FAILED_PRECONDITION if one of that name differs.
  virtual absl::Status CreateTable(const TableConfig& config, const StopToken& stop) = 0;
  virtual absl::StatusOr<std::unique_ptr<ReplayWriter>> NewWriter(const ReplayWriterOptions& options) = 0;
  virtual absl::StatusOr<std::unique_ptr<ReplaySampler>> NewSampler(const ReplaySamplerOptions& options) = 0;
  virtual absl::StatusOr<std::unique_ptr<PriorityUpdater>> NewPriorityUpdater(const std::string& table) = 0;
};

}  // namespace waggle
