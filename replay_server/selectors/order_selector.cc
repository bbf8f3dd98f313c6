#include "replay_server/selectors/order_selector.h"

#include <vector>

namespace waggle {

void OrderSelector::Insert(uint32_t slot, double /*priority*/) {
  order_.Add(slot);
}

void OrderSelector::Update(absl::Span<const uint32_t> /*slots*/, absl::Span<const double> /*priorities*/) {}

void OrderSelector::Remove(uint32_t slot) {
  order_.Remove(slot);
}

void OrderSelector::SampleBatch(Rng* /*rng*/, absl::Span<Draw> draws) {
  for (Draw& draw : draws) {
    draw = {first_ == First::kOldest ? order_.oldest() : order_.newest(), 1};
  }
}

void OrderSelector::SampleDistinct(Rng* /*rng*/, absl::Span<Draw> draws) {
  std::vector<uint32_t> slots;
  if (first_ == First::kOldest) {
    order_.Oldest(draws.size(), &slots);
  } else {
    order_.Newest(draws.size(), &slots);
  }
  for (size_t i = 0; i < draws.size(); ++i) {
    draws[i] = {slots[i], 1};
  }
}

}  // namespace waggle
