#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "common/config/table/table_config.h"
#include "common/replay/ports/replay.h"
#include "replay_server/items/insert_times.h"
#include "replay_server/items/table_state.h"
#include "replay_server/rows/chunk_tier.h"

namespace waggle {

// A picture of a table for people and metrics.
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
  // Why requests are blocked, by the limiter and by the disk; empty if none are.
  std::string blocked_because;
  ChunkTier::Info tier;  // If it has one.
};

// The item of a slot.
struct ItemAddress {
  uint64_t generation = 0;
  uint32_t slot = 0;  // The key.
};

// An item and its rows, which it keeps alive.
struct HeldItem {
  ItemFacts facts;
  Window window;
};

// Converts an item's generation to its age.
struct ItemAges {
  uint64_t next_generation = 0;
  InsertTimes times;
};

}  // namespace waggle
