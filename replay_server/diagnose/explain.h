#pragma once

#include "absl/time/time.h"
#include "replay_server/table/table_picture.h"
#include "waggle/v1/replay.pb.h"

namespace waggle {

// The causes of waits, as they travel and are printed: docs/replay_explain.md. Those of deadlocks are marked.
namespace causes {

inline constexpr char kNone[] = "none";
inline constexpr char kNobodySamples[] = "nobody_samples";         // Inserts wait; no sampler is connected.
inline constexpr char kSamplersSlow[] = "samplers_slow";           // Inserts wait; the samplers ask for too little.
inline constexpr char kNobodyWrites[] = "nobody_writes";           // Samples wait; no writer is connected.
inline constexpr char kTooFewItems[] = "too_few_items";            // Samples wait for min_items.
inline constexpr char kInsertsTooFew[] = "inserts_too_few";        // Samples wait for the ratio.
inline constexpr char kOtherCounts[] = "other_counts";             // The same, with counts of another configuration.
inline constexpr char kDrawsUsedUp[] = "draws_used_up";            // Samples wait for max_times_sampled.
inline constexpr char kTooFewDifferent[] = "too_few_different";    // Samples wait for as many items as the batch has.
inline constexpr char kLimiterTooTight[] = "limiter_too_tight";    // Deadlock: inserts and samples block each other.
inline constexpr char kBatchTooLarge[] = "batch_too_large";        // Deadlock: the table can never hold the batch.
inline constexpr char kBytesTooFew[] = "bytes_too_few";            // Deadlock: max_bytes removes items too early.
inline constexpr char kServerMemoryFull[] = "server_memory_full";  // Deadlock: all tables' memory removes them.
inline constexpr char kDiskRefuses[] = "disk_refuses";             // Inserts wait for a disk that refuses writes.
inline constexpr char kDiskSlow[] = "disk_slow";                   // A commit takes long.
inline constexpr char kCheckpointFails[] = "checkpoint_fails";     // No request waits, but checkpoints fail.
inline constexpr char kSampleMemoryFull[] = "sample_memory_full";  // Drawn batches wait for the samplers' memory.

}  // namespace causes

struct ExplainOptions {
  // Waits are usual while the table has gone on within this time.
  absl::Duration patience = absl::Seconds(2);
};

// Explains why a table waits, from its numbers alone.
v1::TableExplanation Explain(const TablePicture& picture, const ExplainOptions& options);

}  // namespace waggle
