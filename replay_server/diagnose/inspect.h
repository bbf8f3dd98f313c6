#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/tensor/array_spec.h"
#include "replay_server/table/table.h"

namespace waggle {

// Looks into a table, for people. The table's lock is held for bounded steps only; a look at all of a large table takes
// long and sees it while it changes.

enum class ItemOrder { kKey, kNewest, kOldest, kHighestPriority, kLowestPriority };

inline constexpr int64_t kMaxInspectedItems = 1000;

struct InspectRequest {
  ItemOrder order = ItemOrder::kKey;
  int64_t page_size = 0;
  std::string page_token;      // Of the page before; empty for the first one.
  std::vector<uint64_t> keys;  // Instead of a page: these.
  bool statistics = false;
};

struct InspectedItem {
  ItemFacts facts;
  uint64_t age_inserts = 0;  // How many were inserted after it.
  std::optional<absl::Duration> age;
  std::optional<double> probability;  // See DrawProbability.
  std::string producer;               // The writer of its first row; empty where that is not known.
};

struct ItemStatistics {
  int64_t items = 0;
  int64_t rows = 0;
  // Powers of two: bucket b counts 2^(b - 1) <= value < 2^b; kZero counts zeros.
  static constexpr int kZero = -100'000;
  std::map<int, int64_t> priorities;
  std::map<int, int64_t> times_sampled;
  double min_priority = 0;
  double max_priority = 0;
  double mean_priority = 0;
  uint64_t min_policy_version = 0;
  uint64_t max_policy_version = 0;
  double mean_policy_version = 0;
};

struct Inspection {
  std::vector<InspectedItem> items;
  std::string next_page_token;  // Empty where there is no further page.
  std::vector<uint64_t> unknown_keys;
  ItemStatistics statistics;
  int64_t table_items = 0;
};

// INVALID_ARGUMENT for a token that is not one of this order, or for more items than are allowed at a time.
absl::StatusOr<Inspection> Inspect(const Table& table, const InspectRequest& request);

// One column of an item, its rows with the context's first.
struct InspectedColumn {
  ArraySpec spec;
  std::string data;  // Empty where it has more bytes than were left.
  uint64_t checksum = 0;
  double min = 0;
  double max = 0;
  double mean = 0;
};

// All columns, with up to `max_bytes` of data in all. Without a lock. DATA_LOSS for rows that were damaged.
absl::StatusOr<std::vector<InspectedColumn>> InspectColumns(const Table& table, const Window& window,
                                                            int64_t max_bytes);

}  // namespace waggle
