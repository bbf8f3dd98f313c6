#include "replay_server/selectors/order_selector.h"

namespace waggle {

void OrderSelector::Insert(uint32_t slot, double /*priority*/) {
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

void OrderSelector::Update(absl::Span<const uint32_t> /*slots*/, absl::Span<const double> /*priorities*/) {}

void OrderSelector::Remove(uint32_t slot) {
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

void OrderSelector::SampleBatch(Rng* /*rng*/, absl::Span<Draw> draws) {
  for (Draw& draw : draws) {
    draw = {first_ == First::kOldest ? oldest_ : newest_, 1};
  }
}

void OrderSelector::SampleDistinct(Rng* /*rng*/, absl::Span<Draw> draws) {
  uint32_t slot = first_ == First::kOldest ? oldest_ : newest_;
  for (Draw& draw : draws) {
    draw = {slot, 1};
    slot = first_ == First::kOldest ? links_[slot].newer : links_[slot].older;
  }
}

}  // namespace waggle
