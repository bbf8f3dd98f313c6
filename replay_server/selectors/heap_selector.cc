#include "replay_server/selectors/heap_selector.h"

#include <utility>

namespace waggle {

void HeapSelector::Insert(uint32_t slot, double priority) {
  if (slot >= ranks_.size()) {
    ranks_.resize(slot + size_t{1});
    position_.resize(slot + size_t{1});
  }
  ranks_[slot] = {sign_ * priority, inserted_++};
  Push(slot);
}

void HeapSelector::Update(absl::Span<const uint32_t> slots, absl::Span<const double> priorities) {
  for (size_t i = 0; i < slots.size(); ++i) {
    ranks_[slots[i]].key = sign_ * priorities[i];
    SiftUp(position_[slots[i]]);
    SiftDown(position_[slots[i]]);
  }
}

void HeapSelector::Remove(uint32_t slot) {
  Erase(position_[slot]);
}

void HeapSelector::SampleBatch(Rng* /*rng*/, absl::Span<Draw> draws) {
  for (Draw& draw : draws) {
    draw = {heap_.front(), 1};
  }
}

void HeapSelector::SampleDistinct(Rng* /*rng*/, absl::Span<Draw> draws) {
  for (Draw& draw : draws) {
    draw = {heap_.front(), 1};
    Erase(0);
  }
  for (const Draw& draw : draws) {
    Push(draw.slot);
  }
}

void HeapSelector::Place(size_t position, uint32_t slot) {
  heap_[position] = slot;
  position_[slot] = static_cast<uint32_t>(position);
}

void HeapSelector::SiftUp(size_t position) {
  const uint32_t slot = heap_[position];
  while (position > 0 && ranks_[slot] < ranks_[heap_[(position - 1) / 2]]) {
    Place(position, heap_[(position - 1) / 2]);
    position = (position - 1) / 2;
  }
  Place(position, slot);
}

void HeapSelector::SiftDown(size_t position) {
  const uint32_t slot = heap_[position];
  for (size_t child = 2 * position + 1; child < heap_.size(); child = 2 * position + 1) {
    if (child + 1 < heap_.size() && ranks_[heap_[child + 1]] < ranks_[heap_[child]]) {
      ++child;
    }
    if (!(ranks_[heap_[child]] < ranks_[slot])) {
      break;
    }
    Place(position, heap_[child]);
    position = child;
  }
  Place(position, slot);
}

void HeapSelector::Push(uint32_t slot) {
  heap_.push_back(slot);
  SiftUp(heap_.size() - 1);
}

void HeapSelector::Erase(size_t position) {
  const uint32_t last = heap_.back();
  heap_.pop_back();
  if (position < heap_.size()) {
    Place(position, last);
    SiftUp(position);
    SiftDown(position_[last]);
  }
}

}  // namespace waggle
