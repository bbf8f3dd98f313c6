#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "replay_server/items/numbered_values.h"
#include "replay_server/rows/chunk.h"

namespace waggle {

// Consecutive rows of one stream: the chunks that hold them, in order. Nearly all windows lie in one chunk or two.
using WindowChunks = absl::InlinedVector<ChunkRef, 2>;
struct Window {
  WindowChunks chunks;
  uint32_t offset = 0;  // Of the first row, context included, in the first chunk.
  uint32_t rows = 0;    // Without the context.
  uint8_t context = 0;  // Rows before the window that its view's stacks reach back to.
};

// What a table knows of its items, in numbered slots that are used again: 32 bytes an item, and a list of chunks where
// the window lies in several. A table of a hundred million small items is made of little else. Not thread-safe.
class ItemSlots {
 public:
  // What there is to say of an item without its rows.
  struct Facts {
    uint64_t generation = 0;  // Never 0.
    double priority = 0;
    uint64_t policy_version = 0;
    uint32_t times_sampled = 0;
    uint16_t pins = 0;  // Which of the blocks' pins are the table's own.
  };
  // Counting stops there.
  static constexpr uint32_t kMaxTimesSampled = (1U << 25) - 1;

  ItemSlots() = default;
  ItemSlots(ItemSlots&& other) noexcept;
  ItemSlots& operator=(ItemSlots&& other) noexcept;
  ~ItemSlots();

  // Slots that were ever used.
  uint32_t size() const { return size_; }
  // An empty slot, which must be filled. Of those that were used before, the one that was emptied last.
  uint32_t Take();
  // Makes room up to there; the slots are to be filled, and then CollectFree called.
  void Grow(uint32_t slots);
  void CollectFree();

  // The slot is one of Take. The window has at least one chunk. Generations grow from one call to the next, and no item
  // stays while 2^48 others come.
  void Fill(uint32_t slot, Window window, const Facts& facts);
  // Hands over the rows; the slot may be taken again.
  WindowChunks Empty(uint32_t slot);

  // 0 if it holds no item; what follows is for slots that do.
  uint64_t generation(uint32_t slot) const {
    const uint64_t stored = At(slot).generation;
    return stored == 0 ? 0 : first_generation_ + (stored - 1);
  }
  bool holds_item(uint32_t slot) const { return At(slot).generation != 0; }
  double priority(uint32_t slot) const { return At(slot).priority; }
  void set_priority(uint32_t slot, double priority) { At(slot).priority = priority; }
  uint32_t times_sampled(uint32_t slot) const { return At(slot).times_sampled; }
  void CountSampled(uint32_t slot) { At(slot).times_sampled += times_sampled(slot) < kMaxTimesSampled ? 1 : 0; }
  // A mark that is the caller's to use, also of empty slots.
  bool changed(uint32_t slot) const { return At(slot).changed; }
  void set_changed(uint32_t slot, bool changed) { At(slot).changed = changed; }

  Facts facts(uint32_t slot) const;
  Window window(uint32_t slot) const;
  // The same without the chunks that have none of its rows [0, head) and [first, end), counted with the context;
  // `left_out` is how many rows of those before `end` these have. 0 < head, first < end.
  Window window_parts(uint32_t slot, uint32_t head, uint32_t first, uint32_t end, uint32_t* left_out) const;
  // Rows of the window, without and of its context.
  uint32_t rows(uint32_t slot) const;
  uint8_t context(uint32_t slot) const;
  ChunkRef first_chunk(uint32_t slot) const;
  // Calls `visit` with each of the window's chunks, and returns how many there are.
  template <class Visit>
  size_t VisitChunks(uint32_t slot, const Visit& visit) const;
  uint16_t pins(uint32_t slot) const;

  // Ask for memory ahead: of the slot, and then, once that is here, of where its rows are known.
  void Prefetch(uint32_t slot) const { __builtin_prefetch(&At(slot), 1); }
  void PrefetchRows(uint32_t slot) const {
    __builtin_prefetch(reinterpret_cast<const void*>(At(slot).rows & ~uintptr_t{kLong}), 1);
  }

 private:
  static constexpr uint32_t kPageSlots = 4096;
  static constexpr uintptr_t kLong = 1;  // A bit of Slot::rows that no address has.

  // A window that a slot has no room for: of several chunks, or with numbers that are large.
  struct LongWindow {
    Window window;
    uint32_t policy_version = 0;
    uint16_t pins = 0;
  };
  struct alignas(32) Slot {
    uintptr_t rows = 0;  // A Chunk, of which it has a reference, or, with the bit, a LongWindow. 0: none.
    double priority = 0;
    uint64_t generation : 48;  // From first_generation_ on, which is 1; 0: it holds no item.
    uint64_t offset : 16;
    uint64_t policy_version : 24;  // A number of versions_.
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
  // Counts generations from the oldest item's on.
  void CountAnew();

  std::vector<std::unique_ptr<Slot[]>> pages_;  // Of one size, so that a growing table never copies them.
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
