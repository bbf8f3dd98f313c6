#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/config/table/table_config.h"
#include "common/replay/ports/replay.h"
#include "replay_server/items/item_slots.h"
#include "replay_server/rows/chunk.h"
#include "replay_server/selectors/selector.h"

namespace waggle {

// An item without its rows.
struct ItemFacts {
  uint64_t key = 0;
  uint64_t generation = 0;
  double priority = 0;
  uint64_t policy_version = 0;
  uint32_t times_sampled = 0;
  uint32_t rows = 0;
  uint32_t context_rows = 0;
};

// A table's items and the selectors that know them. A key is the number of a slot. Not thread-safe.
struct TableContents {
  explicit TableContents(const TableConfig& config);

  // Replaces the selectors by those of this configuration, with the same items.
  void RebuildSelectors(const TableConfig& config);
  // True if there is this item. Counts it as applied, and otherwise as stale or unknown.
  bool Find(uint64_t key, uint64_t generation, PriorityUpdateCounts* counts) const {
    const uint64_t found = key < items.size() ? items.generation(static_cast<uint32_t>(key)) : 0;
    ++(found == 0 ? counts->unknown : found == generation ? counts->applied : counts->stale);
    return found != 0 && found == generation;
  }

  // See TableState.
  ItemFacts FactsAt(uint32_t slot) const;
  uint32_t Scan(uint32_t first, uint32_t count, std::vector<ItemFacts>* found) const;
  ChunkRef FirstChunk(uint64_t key, uint64_t generation) const;
  bool Hold(uint64_t key, ItemFacts* facts, Window* window) const;

  std::unique_ptr<Selector> sampler;
  std::unique_ptr<Selector> remover;
  ItemSlots items;
};

}  // namespace waggle
