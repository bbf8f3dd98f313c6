#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "absl/status/status.h"
#include "common/config/table/table_config.h"
#include "replay_server/items/item_slots.h"
#include "replay_server/items/table_log.h"

namespace waggle {

// The slots of a table that changed since they were taken last, if this is recorded. Not thread-safe.
class ChangedSlots {
 public:
  // Draws change an item if `draws` is true.
  void Start(bool draws) {
    recording_ = true;
    draws_ = draws;
  }
  void Stop() { recording_ = false; }
  bool draws() const { return draws_; }
  size_t size() const { return slots_.size() + gone_.size(); }

  void Note(uint32_t slot, ItemSlots* items) {
    if (recording_ && !items->changed(slot)) {
      items->set_changed(slot, true);
      slots_.push_back(slot);
    }
  }
  // Notes all slots that hold items.
  void NoteAll(ItemSlots* items);
  // Notes that the table was cleared.
  void NoteCleared();
  // The items lie in `items` now, each in its slot; slots past its end are empty.
  void MoveTo(ItemSlots* items);
  // Takes up to `most` slots, oldest changes first, and whether the table was cleared before.
  void Take(size_t most, ItemSlots* items, TableChanges* changes);

 private:
  bool recording_ = false;
  bool draws_ = false;
  bool cleared_ = false;        // Since changes were taken.
  std::deque<uint32_t> slots_;  // Each slot once, in order of its first change.
  std::deque<uint32_t> gone_;   // Changed slots past the end of the items. They are taken first.
};

// The record of a slot, which may be empty.
ItemRecord RecordOf(const ItemSlots& items, uint32_t slot);

// INVALID_ARGUMENT for items that a table cannot have had. Does not detect two items in one slot.
absl::Status CheckSavedItems(const TableConfig& config, const TableCounters& counters,
                             const std::vector<ItemRecord>& items);

}  // namespace waggle
