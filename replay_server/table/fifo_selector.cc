#include "replay_server/table/fifo_selector.h"

namespace waggle {

void FifoSelector::Insert(uint32_t slot, double /*priority*/) {
  if (slot >= links_.size()) {
    links_.resize(slot + size_t{1});
  }
  if (size_ == 0) {
    oldest_ = slot;
  } else {
    links_[newest_].newer = slot;
    links_[slot].older = newest_;
  }
  newest_ = slot;
  ++size_;
}

void FifoSelector::Update(absl::Span<const uint32_t> /*slots*/, absl::Span<const double> /*priorities*/) {}

void FifoSelector::Remove(uint32_t slot) {
  const Links links = links_[slot];
  if (slot == oldest_) {
    oldest_ = links.newer;
  } else {
    links_[links.older].newer = links.newer;
  }
  if (slot == newest_) {
    newest_ = links.older;
  } else {
    links_[links.newer].older = links.older;
  }
  --size_;
}

void FifoSelector::Clear() {
  size_ = 0;
}

void FifoSelector::SampleBatch(Rng* /*rng*/, absl::Span<Draw> draws) {
  for (Draw& draw : draws) {
    draw = {oldest_, 1};
  }
}

}  // namespace waggle
