#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/tensor/array_spec.h"

namespace waggle {

// How a table picks items to sample.
struct SamplerConfig {
  enum class Kind { kUniform, kPrioritized, kFifo };
  Kind kind = Kind::kUniform;
  // Prioritized: items are drawn with probability proportional to priority ^ priority_exponent; 0 is uniform.
  double priority_exponent = 0.6;
};

// Which items leave a full table.
struct RemoverConfig {
  enum class Kind { kFifo };
  Kind kind = Kind::kFifo;
};

// Keeps the ratio of samples to inserts near `samples_per_insert`; see waggle.v1.RateLimiterConfig for the exact rule.
struct RateLimiterConfig {
  double samples_per_insert = 0;  // 0: only min_items holds.
  int64_t min_items = 1;          // Nothing is sampled from a table with less.
  double error_buffer = 0;        // How far the ratio may stray, in samples.
};

// One field of a sampled item: a column, and which rows of the item's window.
struct ViewField {
  enum class Rows {
    kFirst,
    kLast,
    kAll,  // Zero-padded to max_window; the window's length lies beside it.
  };
  std::string name;
  std::string column;
  Rows rows = Rows::kFirst;
};

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

  // INVALID_ARGUMENT naming every field that is wrong, and what would be right.
  absl::Status Validate() const;
};

// In words, each field in which the two differ ("max_items: 10 and 20"); empty where they are equal.
std::vector<std::string> Differences(const TableConfig& a, const TableConfig& b);

}  // namespace waggle
