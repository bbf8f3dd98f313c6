#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "replay_server/table/table_picture.h"

namespace waggle {

// What is the matter with a table, told from its numbers alone.

enum class Verdict {
  kFlowing,   // Nobody waits, or only as briefly as a rate limiter makes everybody wait now and then.
  kWaiting,   // Somebody waits, and somebody else can end it.
  kDeadlock,  // Somebody waits for what can never come, unless a setting or a client is changed.
};

// Of the first one who waits, and of a deadlock. The numbers travel; they never change.
enum class Cause {
  kNone = 0,
  kNobodySamples = 1,      // Inserts wait for samples; no sampler is connected.
  kSamplersSlow = 2,       // Inserts wait for samples that the samplers there do not ask for.
  kNobodyWrites = 3,       // Samples wait for inserts; no writer is connected.
  kTooFewItems = 4,        // Samples wait for min_items.
  kInsertsTooFew = 5,      // Samples wait for the limiter: enough items, and too few inserts for one more batch.
  kOtherCounts = 6,        // The same, where this configuration cannot have led to: it was another one's table.
  kDrawsUsedUp = 7,        // Samples wait for items that were not sampled max_times_sampled times.
  kTooFewDifferent = 8,    // Samples wait for as many different items as the batch has.
  kLimiterTooTight = 9,    // Deadlock: inserts and samples block each other.
  kBatchTooLarge = 10,     // Deadlock: a batch of more than the table can ever give.
  kBytesTooFew = 11,       // Deadlock: items leave for max_bytes before there are enough.
  kServerMemoryFull = 12,  // Deadlock: items leave for the memory of all tables before there are enough.
  kDiskRefuses = 13,       // Inserts wait because what the table keeps cannot be written to disk.
  kDiskSlow = 14,          // A commit takes long; this table's inserts wait for it unless all flows.
  kCheckpointFails = 15,   // Nobody waits, but checkpoints are not kept.
  kSampleMemoryFull = 16,  // Drawn batches wait for the memory that all batches on their way share.
};

// "nobody_writes", …: what the causes are called.
absl::string_view Name(Verdict verdict);
absl::string_view Name(Cause cause);

// A setting that frees the first one who waits: of the table's configuration, or of somebody's batch size.
struct Remedy {
  std::string setting;      // "rate_limiter.max_difference"; "batch_size"; in words where it is neither: "room in DIR".
  std::string now;          // "800".
  std::string change;       // ">= 812"; "more", which may go on behind the setting: "more, or smaller batches".
  double value = 0;         // 812.
  bool is_setting = false;  // Of the table: it can be reconfigured.
};

struct Explanation {
  Verdict verdict = Verdict::kFlowing;
  Cause cause = Cause::kNone;
  std::string summary;                   // One line, and the one that matters.
  std::string who_could;                 // Who could end the wait, in words; empty where nobody waits.
  std::vector<std::string> why_inserts;  // For each of the picture's first_inserts.
  std::vector<std::string> why_samples;
  std::vector<Remedy> remedies;  // Each by itself, unless the text of one says otherwise; the best one first.
};

struct ExplainOptions {
  // A wait is one of everyday while the table has gone on within this time.
  absl::Duration patience = absl::Seconds(2);
};

Explanation Explain(const TablePicture& picture, const ExplainOptions& options);

}  // namespace waggle
