#include "replay_server/items/table_contents.h"

#include <algorithm>
#include <utility>

#include "replay_server/selectors/new_selector.h"

namespace waggle {

TableContents::TableContents(const TableConfig& config) : sampler(NewSampler(config)), remover(NewRemover(config)) {}

// Inserts in order of generations, which some selectors use.
void TableContents::RebuildSelectors(const TableConfig& config) {
  std::vector<std::pair<uint64_t, uint32_t>> order;
  order.reserve(items.items());
  for (uint32_t slot = 0; slot < items.size(); ++slot) {
    if (items.holds_item(slot)) {
      order.emplace_back(items.generation(slot), slot);
    }
  }
  std::sort(order.begin(), order.end());
  sampler = NewSampler(config);
  remover = NewRemover(config);
  for (const auto& [generation, slot] : order) {
    sampler->Insert(slot, items.priority(slot));
    remover->Insert(slot, items.priority(slot));
  }
}

uint32_t TableContents::Scan(uint32_t first, uint32_t count, std::vector<ItemFacts>* found) const {
  const uint32_t end = first < items.size() ? first + std::min(count, items.size() - first) : first;
  for (uint32_t slot = first; slot < end; ++slot) {
    if (items.holds_item(slot)) {
      found->push_back(FactsAt(slot));
    }
  }
  return end;
}

ItemFacts TableContents::FactsAt(uint32_t slot) const {
  const ItemSlots::Facts facts = items.facts(slot);
  return {slot,
          facts.generation,
          facts.priority,
          facts.policy_version,
          facts.times_sampled,
          items.rows(slot),
          items.context(slot)};
}

ChunkRef TableContents::FirstChunk(uint64_t key, uint64_t generation) const {
  const auto slot = static_cast<uint32_t>(key);
  const bool there = key < items.size() && generation != 0 && items.generation(slot) == generation;
  return there ? items.first_chunk(slot) : ChunkRef();
}

bool TableContents::Hold(uint64_t key, ItemFacts* facts, Window* window) const {
  const auto slot = static_cast<uint32_t>(key);
  if (key >= items.size() || !items.holds_item(slot)) {
    return false;
  }
  *facts = FactsAt(slot);
  *window = items.window(slot);
  return true;
}

}  // namespace waggle
