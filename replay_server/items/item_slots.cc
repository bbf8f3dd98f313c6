#include "replay_server/items/item_slots.h"

#include <algorithm>
#include <utility>

namespace waggle {
namespace {

constexpr uint64_t kMaxGenerations = (uint64_t{1} << 48) - 1;

}  // namespace

ItemSlots::ItemSlots(ItemSlots&& other) noexcept {
  *this = std::move(other);
}

ItemSlots& ItemSlots::operator=(ItemSlots&& other) noexcept {
  std::swap(pages_, other.pages_);
  std::swap(free_, other.free_);
  std::swap(size_, other.size_);
  std::swap(items_, other.items_);
  std::swap(first_generation_, other.first_generation_);
  std::swap(versions_, other.versions_);
  return *this;
}

ItemSlots::~ItemSlots() {
  for (uint32_t slot = 0; slot < size_; ++slot) {
    TakeRows(&At(slot));
  }
}

uint32_t ItemSlots::Take() {
  if (!free_.empty()) {
    const uint32_t slot = free_.back();
    free_.pop_back();
    return slot;
  }
  Grow(size_ + 1);
  return size_ - 1;
}

void ItemSlots::Grow(uint32_t slots) {
  for (; size_ < slots; ++size_) {
    if (size_ % kPageSlots == 0) {
      pages_.push_back(std::make_unique<Slot[]>(kPageSlots));
    }
  }
}

void ItemSlots::CollectFree() {
  free_.clear();
  for (uint32_t slot = 0; slot < size_; ++slot) {
    if (!holds_item(slot)) {
      free_.push_back(slot);
    }
  }
}

void ItemSlots::Fill(uint32_t slot, Window window, const Facts& facts) {
  if (items_++ == 0) {
    first_generation_ = facts.generation;
  }
  if (facts.generation - first_generation_ >= kMaxGenerations) {
    CountAnew();
  }
  Slot& at = At(slot);
  at.generation = facts.generation - first_generation_ + 1;
  at.priority = facts.priority;
  at.times_sampled = facts.times_sampled < kMaxTimesSampled ? facts.times_sampled : kMaxTimesSampled;
  const uint32_t version = versions_.Use(facts.policy_version);
  at.offset = window.offset;
  at.window_rows = window.rows;
  at.context = window.context;
  at.pins = facts.pins;
  at.policy_version = version;
  if (window.chunks.size() == 1 && at.offset == window.offset && at.window_rows == window.rows &&
      at.context == window.context && at.pins == facts.pins && at.policy_version == version) {
    at.rows = reinterpret_cast<uintptr_t>(window.chunks.front().Release());
  } else {
    at.rows = reinterpret_cast<uintptr_t>(new LongWindow{std::move(window), version, facts.pins}) | kLong;
  }
}

void ItemSlots::CountAnew() {
  uint64_t oldest = kMaxGenerations;
  for (uint32_t slot = 0; slot < size_; ++slot) {
    if (holds_item(slot)) {
      oldest = std::min<uint64_t>(oldest, At(slot).generation);
    }
  }
  for (uint32_t slot = 0; slot < size_; ++slot) {
    if (holds_item(slot)) {
      At(slot).generation -= oldest - 1;
    }
  }
  first_generation_ += oldest - 1;
}

WindowChunks ItemSlots::TakeRows(Slot* slot) {
  WindowChunks chunks;
  if (const LongWindow* window = LongOf(*slot); window != nullptr) {
    chunks = std::move(const_cast<LongWindow*>(window)->window.chunks);
    delete window;
  } else if (slot->rows != 0) {
    chunks.push_back(ChunkRef::Adopt(reinterpret_cast<Chunk*>(slot->rows)));
  }
  slot->rows = 0;
  return chunks;
}

WindowChunks ItemSlots::Empty(uint32_t slot) {
  Slot& at = At(slot);
  versions_.Drop(VersionOf(at));
  at.generation = 0;
  --items_;
  free_.push_back(slot);
  return TakeRows(&at);
}

uint32_t ItemSlots::VersionOf(const Slot& slot) const {
  const LongWindow* window = LongOf(slot);
  return window != nullptr ? window->policy_version : static_cast<uint32_t>(slot.policy_version);
}

ItemSlots::Facts ItemSlots::facts(uint32_t slot) const {
  const Slot& at = At(slot);
  return {generation(slot), at.priority, versions_.value(VersionOf(at)), static_cast<uint32_t>(at.times_sampled),
          pins(slot)};
}

Window ItemSlots::window(uint32_t slot) const {
  const Slot& at = At(slot);
  if (const LongWindow* window = LongOf(at); window != nullptr) {
    return window->window;
  }
  Window window;
  window.chunks.emplace_back(reinterpret_cast<Chunk*>(at.rows));
  window.offset = static_cast<uint32_t>(at.offset);
  window.rows = static_cast<uint32_t>(at.window_rows);
  window.context = static_cast<uint8_t>(at.context);
  return window;
}

Window ItemSlots::window_parts(uint32_t slot, uint32_t head, uint32_t first, uint32_t end, uint32_t* left_out) const {
  *left_out = 0;
  const LongWindow* window = LongOf(At(slot));
  if (window == nullptr) {
    return this->window(slot);
  }
  const Window& whole = window->window;
  Window parts;
  parts.offset = whole.offset;
  parts.rows = whole.rows;
  parts.context = whole.context;
  // Counted from the first row of the first chunk.
  const uint64_t head_end = uint64_t{whole.offset} + head;
  const uint64_t tail_begin = uint64_t{whole.offset} + first;
  const uint64_t tail_end = uint64_t{whole.offset} + end;
  uint64_t begin = 0;
  for (size_t i = 0; begin < std::max(head_end, tail_end); ++i) {
    const uint32_t rows = whole.chunks[i]->rows();
    if (begin < head_end || begin + rows > tail_begin) {
      parts.chunks.push_back(whole.chunks[i]);
    } else {
      *left_out += rows;
    }
    begin += rows;
  }
  return parts;
}

uint32_t ItemSlots::rows(uint32_t slot) const {
  const LongWindow* window = LongOf(At(slot));
  return window != nullptr ? window->window.rows : static_cast<uint32_t>(At(slot).window_rows);
}

uint8_t ItemSlots::context(uint32_t slot) const {
  const LongWindow* window = LongOf(At(slot));
  return window != nullptr ? window->window.context : static_cast<uint8_t>(At(slot).context);
}

ChunkRef ItemSlots::first_chunk(uint32_t slot) const {
  const LongWindow* window = LongOf(At(slot));
  return window != nullptr ? window->window.chunks.front() : ChunkRef(reinterpret_cast<Chunk*>(At(slot).rows));
}

uint16_t ItemSlots::pins(uint32_t slot) const {
  const LongWindow* window = LongOf(At(slot));
  return window != nullptr ? window->pins : static_cast<uint16_t>(At(slot).pins);
}

uint32_t ItemSlots::Scan(uint32_t first, uint32_t count, std::vector<ItemFacts>* items) const {
  const uint32_t end = first < size() ? first + std::min(count, size() - first) : first;
  for (uint32_t slot = first; slot < end; ++slot) {
    if (holds_item(slot)) {
      items->push_back(FactsAt(slot));
    }
  }
  return end;
}

ItemFacts ItemSlots::FactsAt(uint32_t slot) const {
  const Facts its = facts(slot);
  return {slot, its.generation, its.priority, its.policy_version, its.times_sampled, rows(slot), context(slot)};
}

ChunkRef ItemSlots::FirstChunk(uint64_t key, uint64_t generation) const {
  const auto slot = static_cast<uint32_t>(key);
  const bool there = key < size() && generation != 0 && this->generation(slot) == generation;
  return there ? first_chunk(slot) : ChunkRef();
}

bool ItemSlots::Hold(uint64_t key, ItemFacts* facts, Window* window) const {
  const auto slot = static_cast<uint32_t>(key);
  if (key >= size() || !holds_item(slot)) {
    return false;
  }
  *facts = FactsAt(slot);
  *window = this->window(slot);
  return true;
}

}  // namespace waggle
