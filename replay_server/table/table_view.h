#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "common/api/replay.h"
#include "common/table_config/table_config.h"
#include "replay_server/items/insert_times.h"
#include "replay_server/items/table_state.h"
#include "replay_server/rows/chunk_tier.h"

// What Table shows to people and to metrics.

namespace waggle {

// A picture of a table for people and for metrics.
struct TableInfo {
  std::shared_ptr<const TableConfig> config;
  uint64_t config_generation = 0;
  int64_t items = 0;
  int64_t bytes = 0;
  int64_t items_inserted = 0;
  int64_t items_sampled = 0;
  int64_t items_removed = 0;
  PriorityUpdateCounts priority_updates;
  int64_t inserts_waiting = 0;  // Requests.
  int64_t samples_waiting = 0;
  double priority_sum = 0;
  // In words, what the limiter waits for, and why nothing can be written to disk; empty where nobody is blocked.
  std::string blocked_because;
  ChunkTier::Info tier;  // Of its tier, where it has one.
};

// Which item a slot holds.
struct ItemAddress {
  uint64_t generation = 0;
  uint32_t slot = 0;  // The key.
};

// An item and its rows, which stay whatever becomes of it.
struct HeldItem {
  ItemFacts facts;
  Window window;
};

// What tells an item's age from its generation.
struct ItemAges {
  uint64_t next_generation = 0;
  InsertTimes times;
};

}  // namespace waggle
