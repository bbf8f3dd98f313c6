#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/base/tensor/array_spec.h"
#include "common/base/tensor/compression.h"

namespace waggle {

// Enumerators are numbered as those of waggle.v1.

// A table's rule for picking an item.
enum class SelectorKind {
  kUniform = 1,
  kPrioritized,  // With probability proportional to (priority + epsilon) ^ exponent.
  kFifo,         // The oldest.
  kLifo,         // The newest.
  kMinHeap,      // The one of the lowest priority; the oldest among equals.
  kMaxHeap,      // The one of the highest priority; the oldest among equals.
};

// Picks items to sample.
struct SamplerConfig {
  SelectorKind kind = SelectorKind::kUniform;
  // Prioritized: 0 is uniform, 1 fully proportional.
  double priority_exponent = 0.6;
  // Prioritized: added to every priority, so that an item of priority 0 can be drawn.
  double priority_epsilon = 0;
  // Priorities may be negative and count by their magnitude: for a loss's signed errors.
  bool absolute_priorities = false;
  // A batch has no item twice. Its probabilities are still those of a single draw.
  bool without_replacement = false;
  // Prioritized, with replacement: the draws of a batch are independent. Otherwise a batch is stratified: each item is
  // drawn as often on average, but more evenly.
  bool independent_draws = false;
  // Prioritized: this share of the draws is made uniformly.
  double uniform_share = 0;
  // Uniform and prioritized: this share of the draws is made among the newest items only. For batch k of a phase of
  // recent_period batches these are the newest max(recent_items, items * recent_decay ^ (1000 k / recent_period)):
  // "Emphasizing Recent Experience" (arXiv 1906.04009) with a share of 1, and the decay as its eta. With a decay of 0
  // they are always recent_items.
  double recent_share = 0;
  int64_t recent_items = 5000;
  double recent_decay = 0;
  int64_t recent_period = 1000;

  template <class Visitor, class... Self>
  static void Visit(Visitor&& visit, Self&... self);  // table_fields.h
};

// Picks the items that leave a full table.
struct RemoverConfig {
  SelectorKind kind = SelectorKind::kFifo;
  double priority_exponent = 1;  // Prioritized: items of a high priority leave first.

  template <class Visitor, class... Self>
  static void Visit(Visitor&& visit, Self&... self);  // table_fields.h
};

// Keeps the ratio of samples to inserts near `samples_per_insert`; see waggle.v1.RateLimiterConfig for the exact rule.
struct RateLimiterConfig {
  double samples_per_insert = 0;  // 0: only min_items holds.
  int64_t min_items = 1;          // Nothing is sampled from a table with less.
  double error_buffer = 0;        // The ratio's tolerance, in samples.
  // Instead of error_buffer: the bounds of inserts * samples_per_insert - samples. Both, or neither.
  std::optional<double> min_difference = std::nullopt;
  std::optional<double> max_difference = std::nullopt;

  template <class Visitor, class... Self>
  static void Visit(Visitor&& visit, Self&... self);  // table_fields.h

  // The bounds in use: the two above, or those from min_items and error_buffer.
  double MinDifference() const;
  double MaxDifference() const;
  // True if the difference stays a whole number once it is one.
  bool CountsInIntegers() const;
  // The reason why an insert and a batch of this size could wait for each other for ever, in words
  // ("rate_limiter.error_buffer: 2 is too small: …"); empty if they cannot.
  std::string WhyStuck(int64_t batch_size) const;
};

// One field of a sampled item: a column, and the rows of the item's window that it takes.
//
// If a field is kFuture, an item's window goes on behind its transition. Its first transition_rows rows are the
// transition, from which kFirst, kLast and kAll take theirs. FutureRow says which row is the item's future row. An
// item is still one step of an episode, and is drawn, counted, given a priority and removed as such. So all
// steps are equally likely, unlike with whole episodes as items. The table need not know the ends of episodes, because
// windows never reach past them. All windows over a row share it. A longer window costs 8 bytes for each further chunk
// that it reaches over.
struct ViewField {
  enum class Rows {
    kFirst = 1,
    kLast,
    kAll,  // Zero-padded to an item's most rows (SampledRows); its number of rows is a fact beside it.
    // The item's future row, drawn anew each time that the item is sampled: for goals in hindsight (HER, arXiv
    // 1707.01495). All fields of an item have the same one; its distance from the first row is a fact beside it.
    kFuture,
  };
  std::string name;
  std::string column;
  Rows rows = Rows::kFirst;
  // More than 1: each of these rows comes with the rows before it, `stack` in all, oldest first, along a new axis. If
  // the item has no more rows before, its first one is repeated, as at an episode's start.
  int64_t stack = 1;

  template <class Visitor, class... Self>
  static void Visit(Visitor&& visit, Self&... self);  // table_fields.h
};

// The rows of which one is drawn as an item's future row, each as likely: HER's strategies "future", "final" and
// "episode" (arXiv 1707.01495, section 4.5).
enum class FutureRow {
  kLater = 1,  // The window's rows behind its first one.
  kLast,       // The window's last row alone.
  kEpisode,    // The window's rows, and those before it in its episode, which then belong to the item as its context.
};

// The form of a column's rows from the writer on, stored and on the wire.
struct ColumnCompression {
  std::string column;
  Codec codec = Codec::kLz4;  // Not kNone.

  template <class Visitor, class... Self>
  static void Visit(Visitor&& visit, Self&... self);  // table_fields.h
};

// The part of a table that outlives its server.
enum class Durability {
  kNone,
  kCheckpoint,  // The latest checkpoint.
  kLog,         // Everything that was acknowledged.
};

inline constexpr int kMaxViewFields = 1024;
inline constexpr int64_t kMaxStack = 256;
// Rows before a window that may belong to its item.
inline constexpr int64_t kMaxContextRows = 255;

// The whole configuration of a replay table.
struct TableConfig {
  std::string name;
  std::vector<ArraySpec> signature;
  std::vector<ViewField> view;
  SamplerConfig sampler;
  RemoverConfig remover;
  RateLimiterConfig rate_limiter;
  int64_t max_items = 0;
  int64_t max_bytes = 0;          // The rows' bytes.
  int64_t max_times_sampled = 0;  // 0: no limit.
  int64_t max_window = 1;         // Rows an item may have.
  int64_t transition_rows = 0;    // Rows of its window for kFirst, kLast and kAll; 0: all. Only beside kFuture.
  uint64_t seed = 0;              // It decides the drawn items, with the name; the run's own.
  std::vector<ColumnCompression> compression = {};  // For the columns it names; the others are not compressed.
  Durability durability = Durability::kNone;
  bool log_sync = false;  // kLog: an answer waits for the disk, and so outlives the machine as well.
  // Bytes of rows in memory; rows beyond them are kept on disk. 0: no limit. Cannot be changed from or to 0.
  int64_t memory_limit = 0;
  FutureRow future_row = FutureRow::kLater;  // Another one only beside kFuture.

  template <class Visitor, class... Self>
  static void Visit(Visitor&& visit, Self&... self);  // table_fields.h

  // The most rows before a window that may belong to its item: the reach of the longest stack, or of kEpisode.
  int64_t MaxContextRows() const;
  // The reach of the longest stack.
  int64_t StackReach() const;

  // True if a field is kFuture.
  bool HasFuture() const;
  // The fewest rows of an item: 2 if one of them is a future row, otherwise 1.
  int64_t MinWindow() const { return HasFuture() ? 2 : 1; }
  // The most rows of an item for kFirst, kLast and kAll.
  int64_t SampledRows() const { return transition_rows > 0 ? transition_rows : max_window; }

  // True if anything is picked by its priority.
  bool UsesPriorities() const;

  // INVALID_ARGUMENT naming every wrong field, and the right values.
  absl::Status Validate() const;
  // The same for all that needs neither name nor columns, one problem a line.
  absl::Status ValidateSettings() const;
  // The same for `compression`.
  absl::Status ValidateCompression() const;
  // FAILED_PRECONDITION if the table could never give a batch of this size, beginning with a field that is too small;
  // INVALID_ARGUMENT for a batch without items.
  absl::Status CheckBatchSize(int64_t batch_size) const;
};

// "prioritized", "max_heap", …: the enumerators' names in configurations and messages.
absl::string_view Name(SelectorKind kind);
absl::string_view Name(ViewField::Rows rows);
absl::string_view Name(FutureRow row);
absl::string_view Name(Codec codec);
absl::string_view Name(Durability durability);

// A first-in-first-out or last-in-first-out queue: every item is sampled once, and a full one makes writers wait.
void MakeQueue(int64_t max_items, TableConfig* config);
void MakeStack(int64_t max_items, TableConfig* config);

// Each field in which the two differ, in words ("max_items: 10 and 20"); empty if they are equal.
std::vector<std::string> Differences(const TableConfig& a, const TableConfig& b);
// The differences that cannot be changed while the table is in use.
std::vector<std::string> FixedDifferences(const TableConfig& a, const TableConfig& b);

}  // namespace waggle
