#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "common/replay/ports/replay.h"
#include "replay_server/items/numbered_values.h"
#include "replay_server/rows/chunk.h"

namespace waggle {

// Consecutive rows of one stream and the chunks that hold them, in order: usually one or two.
using WindowChunks = absl::InlinedVector<ChunkRef, 2>;
struct Window {
  WindowChunks chunks;
  uint32_t offset = 0;  // The first row's index, with context, in the first chunk.
  uint32_t rows = 0;    // Without context.
  uint8_t context = 0;  // Preceding rows that its view's stacks need.
};

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

// A table's items in numbered slots, which are reused. Takes 32 bytes an item, plus a list of chunks for windows over
// several. Tables of a hundred million small items consist of little else. Not thread-safe.
class ItemSlots {
 public:
  // An item without its rows.
  struct Facts {
    uint64_t generation = 0;  // Never 0.
    double priority = 0;
    uint64_t policy_version = 0;
    uint32_t times_sampled = 0;
    uint16_t pins = 0;  // Holder number of the table in the blocks' pins.
  };
  // The count stops there.
  static constexpr uint32_t kMaxTimesSampled = (1U << 25) - 1;

  ItemSlots() = default;
  ItemSlots(ItemSlots&& other) noexcept;
  ItemSlots& operator=(ItemSlots&& other) noexcept;
  ~ItemSlots();

  // Number of slots that were ever used.
  uint32_t size() const { return size_; }
  // An empty slot, which must be filled: the one that was emptied last, or a new one.
  uint32_t Take();
  // Makes room for `slots` slots. The caller must fill items in and then call CollectFree.
  void Grow(uint32_t slots);
  void CollectFree();

  // `slot` is from Take. The window has a chunk. Generations increase, and an item leaves before 2^48 others come.
  void Fill(uint32_t slot, Window window, const Facts& facts);
  // Returns the rows. The slot may be reused.
  WindowChunks Empty(uint32_t slot);

  // 0 if the slot holds no item. The functions below need one.
  uint64_t generation(uint32_t slot) const {
    const uint64_t stored = At(slot).generation;
    return stored == 0 ? 0 : first_generation_ + (stored - 1);
  }
  bool holds_item(uint32_t slot) const { return At(slot).generation != 0; }
  double priority(uint32_t slot) const { return At(slot).priority; }
  void set_priority(uint32_t slot, double priority) { At(slot).priority = priority; }
  uint32_t times_sampled(uint32_t slot) const { return At(slot).times_sampled; }
  void CountSampled(uint32_t slot) { At(slot).times_sampled += times_sampled(slot) < kMaxTimesSampled ? 1 : 0; }
  // A mark for the caller's use, also of empty slots.
  bool changed(uint32_t slot) const { return At(slot).changed; }
  void set_changed(uint32_t slot, bool changed) { At(slot).changed = changed; }

  Facts facts(uint32_t slot) const;
  ItemFacts FactsAt(uint32_t slot) const;
  Window window(uint32_t slot) const;
  // The same without chunks that have no rows of [0, head) or [first, end), counted with the context. `left_out` is the
  // number of rows before `end` in the omitted chunks. head > 0, first < end.
  Window window_parts(uint32_t slot, uint32_t head, uint32_t first, uint32_t end, uint32_t* left_out) const;
  // Rows of the window without its context, and of the context.
  uint32_t rows(uint32_t slot) const;
  uint8_t context(uint32_t slot) const;
  ChunkRef first_chunk(uint32_t slot) const;
  // Calls `visit` for each chunk of the window. Returns their number.
  template <class Visit>
  size_t VisitChunks(uint32_t slot, const Visit& visit) const;
  uint16_t pins(uint32_t slot) const;

  // True if there is this item. Counts it as applied, and otherwise as stale or unknown.
  bool Find(uint64_t key, uint64_t generation, PriorityUpdateCounts* counts) const {
    const uint64_t found = key < size() ? this->generation(static_cast<uint32_t>(key)) : 0;
    ++(found == 0 ? counts->unknown : found == generation ? counts->applied : counts->stale);
    return found != 0 && found == generation;
  }

  // See TableState.
  uint32_t Scan(uint32_t first, uint32_t count, std::vector<ItemFacts>* items) const;
  ChunkRef FirstChunk(uint64_t key, uint64_t generation) const;
  bool Hold(uint64_t key, ItemFacts* facts, Window* window) const;

  // Prefetch the slot and then, once that is in the cache, the head of its rows.
  void Prefetch(uint32_t slot) const { __builtin_prefetch(&At(slot), 1); }
  void PrefetchRows(uint32_t slot) const {
    __builtin_prefetch(reinterpret_cast<const void*>(At(slot).rows & ~uintptr_t{kLong}), 1);
  }

 private:
  static constexpr uint32_t kPageSlots = 4096;
  static constexpr uintptr_t kLong = 1;  // Set if Slot::rows is a LongWindow.

  // A window that does not fit into a slot: several chunks or large numbers.
  struct LongWindow {
    Window window;
    uint32_t policy_version = 0;
    uint16_t pins = 0;
  };
  struct alignas(32) Slot {
    uintptr_t rows = 0;  // A Chunk with a reference, or a LongWindow with the kLong bit; 0 if empty.
    double priority = 0;
    uint64_t generation : 48;  // Counts from first_generation_, which is 1; 0 if the slot holds no item.
    uint64_t offset : 16;
    uint64_t policy_version : 24;  // Number in versions_.
    uint64_t times_sampled : 25;
    uint64_t window_rows : 8;
    uint64_t context : 3;
    uint64_t pins : 3;
    uint64_t changed : 1;
    Slot()
        : generation(0),
          offset(0),
          policy_version(0),
          times_sampled(0),
          window_rows(0),
          context(0),
          pins(0),
          changed(0) {}
  };
  static_assert(sizeof(Slot) == 32, "two slots should fit into a cache line");

  Slot& At(uint32_t slot) const { return pages_[slot / kPageSlots][slot % kPageSlots]; }
  static const LongWindow* LongOf(const Slot& slot) {
    return (slot.rows & kLong) != 0 ? reinterpret_cast<const LongWindow*>(slot.rows & ~kLong) : nullptr;
  }
  static WindowChunks TakeRows(Slot* slot);
  uint32_t VersionOf(const Slot& slot) const;
  // Renumbers generations from the oldest item's.
  void CountAnew();

  std::vector<std::unique_ptr<Slot[]>> pages_;  // Pages have a fixed size, so growth copies no slots.
  std::vector<uint32_t> free_;
  uint32_t size_ = 0;
  uint32_t items_ = 0;
  uint64_t first_generation_ = 0;
  NumberedValues versions_;  // Policy versions: few, of many items each.
};

template <class Visit>
size_t ItemSlots::VisitChunks(uint32_t slot, const Visit& visit) const {
  const Slot& at = At(slot);
  if (const LongWindow* window = LongOf(at); window != nullptr) {
    for (const ChunkRef& chunk : window->window.chunks) {
      visit(*chunk);
    }
    return window->window.chunks.size();
  }
  visit(*reinterpret_cast<const Chunk*>(at.rows));
  return 1;
}

}  // namespace waggle
