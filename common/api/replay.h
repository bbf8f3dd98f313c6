#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/stop_token.h"
#include "common/table_config/batch_layout.h"
#include "common/table_config/table_config.h"
#include "common/tensor/byte_slices.h"

// The ports to replay: what actors and learners know of it. Two forms exist: over gRPC (common/replay_client) and in
// process (replay_server/store/local_replay.h); one conformance suite runs over both.

namespace waggle {

// Consecutive rows of one stream, as they are written.
struct ChunkInfo {
  uint32_t stream = 0;     // The stream's number in its writer.
  uint64_t first_row = 0;  // Its index in the stream.
  uint32_t rows = 0;
  // An episode begins: no window reaches over this chunk's start, and none of a later block lies before it.
  bool begins = false;
};

// A window over a stream that is to become an item.
struct ItemInfo {
  uint32_t table = 0;  // An index into the writer's tables.
  uint32_t stream = 0;
  uint64_t first_row = 0;
  uint32_t rows = 0;
  double priority = 0;        // Finite, and >= 0 unless the table takes its magnitude.
  uint32_t context_rows = 0;  // Rows before the window that belong to it too: what its view's stacks reach back.
};

// What a writer hands over at a time.
struct InsertBlock {
  std::vector<ChunkInfo> chunks;
  std::vector<ItemInfo> items;
  uint64_t policy_version = 0;  // Of the weights that chose the actions of these rows.
  // Instead of the priority that it says, each item gets the highest one of its table's items; 1 where there is none.
  bool highest_priority = false;
  // For each column of the signature, in its order: the rows of all chunks in their order, with nothing between.
  ByteSlices data;
  // Where the tables compress columns a writer puts these behind the others itself, chunk by chunk, and says here how
  // many bytes each has: for each such column, in the signature's order, and then for each chunk. As many as without
  // compression means that they are not compressed. What is handed to a writer is not compressed.
  std::vector<uint32_t> compressed_bytes = {};
  // XXH3 of `data`; a writer fills it in.
  std::optional<uint64_t> checksum = std::nullopt;
};

// Appends to tables. One thread at a time.
class ReplayWriter {
 public:
  virtual ~ReplayWriter() = default;

  // Hands over a block. Blocks while too much is unacknowledged, because the table is full for the moment or its server
  // is away. A stop ends the wait with CANCELLED; a block that has room is taken all the same. Any other error is
  // final, and says what was wrong with what.
  virtual absl::Status Append(InsertBlock block, const StopToken& stop) = 0;

  // Waits until every block so far is acknowledged. DEADLINE_EXCEEDED if that takes longer than `timeout`.
  virtual absl::Status Flush(absl::Duration timeout) = 0;

  struct Stats {
    uint64_t items_inserted = 0;      // Acknowledged.
    uint64_t items_without_rows = 0;  // Refused: their rows were lost with the server that held them.
    absl::Duration waited;            // For room, in Append, the wait under way included.
    bool waiting = false;             // For room, now.
  };
  // Any thread.
  virtual Stats stats() const = 0;
};

// A sampled batch: its fields in one block of bytes, as `layout` says.
struct SampledBatch {
  std::shared_ptr<const BatchLayout> layout;
  std::shared_ptr<char> bytes;  // Aligned to 64.
  // Of the table when this was sampled; what importance weights need.
  uint64_t table_items = 0;
  double priority_sum = 0;
  double min_probability = 0;
  uint64_t table_incarnation = 0;  // Another number where it is another table, made after a restart of its server.
  double samples_allowed = 0;      // How many more may be sampled after this batch; infinite where nothing limits it.
  // Of the servers that a buffer is spread over, those that this batch does without because they were lost. It is as
  // large as any, and its probabilities are those of a draw from the others.
  int64_t missing_shards = 0;
  // By SteadyNow(), when its first bytes came; in the infinite future where it was made in this process.
  absl::Time sampled_at = absl::InfiniteFuture();

  // The field's elements; null if there is no such field.
  const void* Data(absl::string_view field) const;
};

// Samples from one table. One thread at a time.
class ReplaySampler {
 public:
  virtual ~ReplaySampler() = default;

  // The next batch, prefetched where the form can. Blocks until there is one. A stop ends the wait with CANCELLED; a
  // batch that is there is returned all the same. Any other error is final.
  virtual absl::StatusOr<SampledBatch> Next(const StopToken& stop) = 0;

  struct Stats {
    uint64_t batches = 0;
    absl::Duration waited;       // For batches, in Next, the wait under way included.
    bool waiting = false;        // For a batch, now.
    int64_t missing_shards = 0;  // Servers of a buffer that is spread over several that are lost, now.
  };
  // Any thread.
  virtual Stats stats() const = 0;
};

// What became of priority updates.
struct PriorityUpdateCounts {
  uint64_t applied = 0;
  uint64_t stale = 0;    // The key holds another item by now.
  uint64_t unknown = 0;  // The key holds no item.
};

// Sends new priorities back. One thread at a time.
class PriorityUpdater {
 public:
  virtual ~PriorityUpdater() = default;

  // Entry i of each is one item. May return before the update is applied. INVALID_ARGUMENT, with nothing applied, for
  // arrays of different lengths or a priority that is negative or not finite.
  virtual absl::Status Update(std::vector<uint64_t> keys, std::vector<uint64_t> generations,
                              std::vector<double> priorities) = 0;

  // Waits until all updates so far are applied, and as safe as the table's durability promises. DEADLINE_EXCEEDED if
  // that takes longer than `timeout`.
  virtual absl::Status Flush(absl::Duration timeout) = 0;

  // Of all updates for which that holds.
  virtual PriorityUpdateCounts counts() const = 0;
};

struct ReplayWriterOptions {
  std::string writer_id;  // Unique among all writers of the run: a second one is FAILED_PRECONDITION.
  std::vector<std::string> tables;
  std::vector<ArraySpec> signature;
  std::vector<ColumnCompression> compression = {};  // As the tables have it.
  // Unacknowledged blocks and bytes that Append lets gather before it blocks.
  int64_t max_unacknowledged_blocks = 64;
  int64_t max_unacknowledged_bytes = int64_t{64} << 20;
};

struct ReplaySamplerOptions {
  TableConfig table;
  int64_t batch_size = 0;
  int64_t prefetch = 4;                          // Batches asked for ahead; 0: none, of one server.
  int64_t max_batch_bytes = int64_t{512} << 20;  // A larger one is refused.
  // What people are to read who ask what a table waits for, such as "learner": a name, or empty.
  std::string sampler_id = {};
  // How batches travel where that makes them much shorter; of no effect in process.
  Codec compression = Codec::kNone;
};

// The way to a replay buffer. Thread-safe.
class ReplayConnection {
 public:
  virtual ~ReplayConnection() = default;

  // Creates the table, or finds that an equal one is there. FAILED_PRECONDITION if one of that name differs.
  virtual absl::Status CreateTable(const TableConfig& config, const StopToken& stop) = 0;
  virtual absl::StatusOr<std::unique_ptr<ReplayWriter>> NewWriter(const ReplayWriterOptions& options) = 0;
  virtual absl::StatusOr<std::unique_ptr<ReplaySampler>> NewSampler(const ReplaySamplerOptions& options) = 0;
  virtual absl::StatusOr<std::unique_ptr<PriorityUpdater>> NewPriorityUpdater(const std::string& table) = 0;
};

}  // namespace waggle
