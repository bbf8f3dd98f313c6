#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/tensor/array_spec.h"
#include "common/tensor/compression.h"

namespace waggle {

// How a table picks an item.
enum class SelectorKind {
  kUniform,
  kPrioritized,  // With probability proportional to (priority + epsilon) ^ exponent.
  kFifo,         // The oldest.
  kLifo,         // The newest.
  kMinHeap,      // The one of the lowest priority; of several the oldest.
  kMaxHeap,      // The one of the highest priority; of several the oldest.
};

// How a table picks items to sample.
struct SamplerConfig {
  SelectorKind kind = SelectorKind::kUniform;
  // Prioritized: 0 is uniform, 1 fully proportional.
  double priority_exponent = 0.6;
  // Prioritized: added to every priority, so that an item of priority 0 can be drawn.
  double priority_epsilon = 0;
  // Priorities may be negative and count by their magnitude: for errors as they come out of a loss.
  bool absolute_priorities = false;
  // A batch has no item twice. Its probabilities are those of a single draw all the same.
  bool without_replacement = false;
  // Prioritized, with replacement: draws of a batch do not know of each other. Otherwise a batch is stratified: each
  // item is drawn as often on average, but more evenly.
  bool independent_draws = false;
  // Prioritized: this share of the draws is made uniformly.
  double uniform_share = 0;
  // Uniform and prioritized: this share of the draws is made among the newest items only, of which there are
  // max(recent_items, items * recent_decay ^ (1000 k / recent_period)) for batch k of a phase of recent_period batches:
  // "Emphasizing Recent Experience" (arXiv 1906.04009) with a share of 1, where the decay is its eta. With a decay of 0
  // they are always recent_items.
  double recent_share = 0;
  int64_t recent_items = 5000;
  double recent_decay = 0;
  int64_t recent_period = 1000;
};

// Which items leave a full table.
struct RemoverConfig {
  SelectorKind kind = SelectorKind::kFifo;
  double priority_exponent = 1;  // Prioritized: items of a high priority leave first.
};

// Keeps the ratio of samples to inserts near `samples_per_insert`; see waggle.v1.RateLimiterConfig for the exact rule.
struct RateLimiterConfig {
  double samples_per_insert = 0;  // 0: only min_items holds.
  int64_t min_items = 1;          // Nothing is sampled from a table with less.
  double error_buffer = 0;        // How far the ratio may stray, in samples.
  // Instead of error_buffer: the bounds of inserts * samples_per_insert - samples. Both, or neither.
  std::optional<double> min_difference = std::nullopt;
  std::optional<double> max_difference = std::nullopt;

  // What holds: of the two above, or of min_items and error_buffer.
  double MinDifference() const;
  double MaxDifference() const;
  // Whether the difference is a whole number, as long as it was one.
  bool CountsInIntegers() const;
  // Why an insert and a batch of this size could wait for each other for ever, in words ("rate_limiter.error_buffer: 2
  // is too small: …"); empty where they cannot.
  std::string WhyStuck(int64_t batch_size) const;
};

// One field of a sampled item: a column, and which rows of the item's window.
//
// Where a field is kFuture, an item's window goes on behind its transition: the first transition_rows of it are the
// transition, which kFirst, kLast and kAll are about, and any row but the window's first may be the item's future row.
// So an item is still one step of an episode, and drawn, counted, given a priority and removed as such, and each is as
// likely whatever the length of its episode, which would not be so for items that are whole episodes. Nothing has to
// know where an episode ends, for windows never reach past it. Its rows are kept once, shared by all windows over them;
// what a longer window costs is 8 bytes for each further chunk that it reaches over.
struct ViewField {
  enum class Rows {
    kFirst,
    kLast,
    kAll,  // Zero-padded to the most that an item may have (SampledRows); how many it has lies beside it.
    // One of the window's rows behind its first one, each as likely, drawn anew each time that the item is sampled: for
    // goals in hindsight (HER's strategy "future", arXiv 1707.01495). All fields of an item have the same one, and how
    // many rows after the first it is lies beside it.
    kFuture,
  };
  std::string name;
  std::string column;
  Rows rows = Rows::kFirst;
  // More than 1: each of these rows comes with the rows before it, `stack` in all, oldest first, along a new axis.
  // Where the item has no more rows before, its first one is repeated, as at an episode's start.
  int64_t stack = 1;
};

// How a column's rows are kept and travel from the writer on.
struct ColumnCompression {
  std::string column;
  Codec codec = Codec::kLz4;  // Not kNone.
};

// What of a table outlives its server.
enum class Durability {
  kNone,
  kCheckpoint,  // What the latest checkpoint has.
  kLog,         // Everything that was answered.
};

inline constexpr int kMaxViewFields = 1024;
inline constexpr int64_t kMaxStack = 256;

// All there is to say about a replay table.
struct TableConfig {
  std::string name;
  std::vector<ArraySpec> signature;
  std::vector<ViewField> view;
  SamplerConfig sampler;
  RemoverConfig remover;
  RateLimiterConfig rate_limiter;
  int64_t max_items = 0;
  int64_t max_bytes = 0;          // Of rows.
  int64_t max_times_sampled = 0;  // 0: no limit.
  int64_t max_window = 1;         // Rows an item may have.
  int64_t transition_rows = 0;    // Of its window, which kFirst, kLast and kAll are about; 0: all. Only beside kFuture.
  uint64_t seed = 0;              // Which items are drawn follows from it and the name; the run's own.
  std::vector<ColumnCompression> compression = {};  // Of the columns it names; the others are kept as they are.
  Durability durability = Durability::kNone;
  bool log_sync = false;  // kLog: an answer waits for the disk, and so outlives the machine as well.
  // Bytes of rows in memory; what is past them is kept on disk. 0: no limit. Cannot be changed from or to 0.
  int64_t memory_limit = 0;

  // The most rows before a window that may belong to its item: what the longest stack reaches back.
  int64_t MaxContextRows() const;

  // Whether a field is kFuture.
  bool HasFuture() const;
  // The fewest rows that an item may have: 2 where one of them is a future row, else 1.
  int64_t MinWindow() const { return HasFuture() ? 2 : 1; }
  // The most rows of an item that kFirst, kLast and kAll are about.
  int64_t SampledRows() const { return transition_rows > 0 ? transition_rows : max_window; }

  // Whether anything is picked by its priority.
  bool UsesPriorities() const;

  // INVALID_ARGUMENT naming every field that is wrong, and what would be right.
  absl::Status Validate() const;
  // The same of what needs neither name nor columns, one problem a line.
  absl::Status ValidateSettings() const;
  // The same of `compression`.
  absl::Status ValidateCompression() const;
  // FAILED_PRECONDITION if the table could never give a batch of this size, beginning with a field that is too small;
  // INVALID_ARGUMENT for one of no items.
  absl::Status CheckBatchSize(int64_t batch_size) const;
};

// "prioritized", "max_heap", …: what the enumerators are called in configurations and messages.
absl::string_view Name(SelectorKind kind);
absl::string_view Name(ViewField::Rows rows);
absl::string_view Name(Codec codec);
absl::string_view Name(Durability durability);

// A first-in-first-out or last-in-first-out queue: every item is sampled once, and a full one makes writers wait.
void MakeQueue(int64_t max_items, TableConfig* config);
void MakeStack(int64_t max_items, TableConfig* config);

// In words, each field in which the two differ ("max_items: 10 and 20"); empty where they are equal.
std::vector<std::string> Differences(const TableConfig& a, const TableConfig& b);
// Those of them that cannot be changed while the table is in use.
std::vector<std::string> FixedDifferences(const TableConfig& a, const TableConfig& b);

}  // namespace waggle
