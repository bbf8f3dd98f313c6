#include "replay_server/items/item_records.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"

namespace waggle {

void ChangedSlots::NoteAll(ItemSlots* items) {
  for (uint32_t slot = 0; slot < items->size(); ++slot) {
    if (items->holds_item(slot)) {
      Note(slot, items);
    }
  }
}

void ChangedSlots::NoteCleared() {
  if (recording_) {
    cleared_ = true;
    slots_.clear();
    gone_.clear();
  }
}

void ChangedSlots::MoveTo(ItemSlots* items) {
  std::deque<uint32_t> kept;
  for (const uint32_t slot : slots_) {
    if (slot < items->size()) {
      items->set_changed(slot, true);
      kept.push_back(slot);
    } else {
      gone_.push_back(slot);
    }
  }
  slots_ = std::move(kept);
}

void ChangedSlots::Take(size_t most, ItemSlots* items, TableChanges* changes) {
  changes->cleared = std::exchange(cleared_, false);
  const size_t gone = std::min(most, gone_.size());
  const size_t count = std::min(most - gone, slots_.size());
  changes->items.reserve(changes->items.size() + gone + count);
  for (size_t i = 0; i < gone; ++i) {
    ItemRecord record;
    record.slot = gone_.front();
    gone_.pop_front();
    changes->items.push_back(std::move(record));
  }
  for (size_t i = 0; i < count; ++i) {
    const uint32_t slot = slots_.front();
    slots_.pop_front();
    items->set_changed(slot, false);
    changes->items.push_back(RecordOf(*items, slot));
  }
}

ItemRecord RecordOf(const ItemSlots& items, uint32_t slot) {
  ItemRecord record;
  record.slot = slot;
  if (items.holds_item(slot)) {
    const ItemSlots::Facts facts = items.facts(slot);
    Window window = items.window(slot);
    record.generation = facts.generation;
    record.priority = facts.priority;
    record.policy_version = facts.policy_version;
    record.offset = window.offset;
    record.rows = window.rows;
    record.times_sampled = facts.times_sampled;
    record.pins = facts.pins;
    record.context = window.context;
    record.chunks = std::move(window.chunks);
  }
  return record;
}

absl::Status CheckSavedItems(const TableConfig& config, const TableCounters& counters,
                             const std::vector<ItemRecord>& items) {
  constexpr int64_t kMostItems = int64_t{1} << 31;  // The largest possible max_items.
  // Limit of the distance from the oldest item to the next.
  constexpr uint64_t kMostGenerations = uint64_t{1} << 47;
  constexpr uint64_t kLastGeneration = uint64_t{1} << 63;
  uint64_t newest = counters.next_generation;
  uint64_t oldest = std::numeric_limits<uint64_t>::max();
  for (const ItemRecord& item : items) {
    // Each slot was made for an insert, so inserts bound slots.
    if (int64_t{item.slot} >= counters.inserted || int64_t{item.slot} >= kMostItems || item.generation == 0 ||
        item.chunks.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("slot ", item.slot, " holds generation ", item.generation,
                                                     " over ", item.chunks.size(), " chunks, after ", counters.inserted,
                                                     " inserts"));
    }
    if (config.max_times_sampled > 0 && int64_t{item.times_sampled} >= config.max_times_sampled) {
      return absl::InvalidArgumentError(absl::StrCat("slot ", item.slot, " holds an item that was sampled ",
                                                     item.times_sampled, " times, of ", config.max_times_sampled));
    }
    newest = std::max(newest, item.generation);
    oldest = std::min(oldest, item.generation);
  }
  if (newest > kLastGeneration || (!items.empty() && newest - oldest >= kMostGenerations)) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is generation ", newest,
                     items.empty() ? ", too far on" : absl::StrCat(" and generation ", oldest, ", too far apart")));
  }
  return absl::OkStatus();
}

}  // namespace waggle
