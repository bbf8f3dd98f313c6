#include "replay_server/table/uniform_selector.h"

namespace waggle {

void UniformSelector::Insert(uint32_t slot, double /*priority*/) {
  if (slot >= position_.size()) {
    position_.resize(slot + size_t{1});
  }
  position_[slot] = static_cast<uint32_t>(slots_.size());
  slots_.push_back(slot);
}

void UniformSelector::Update(absl::Span<const uint32_t> /*slots*/, absl::Span<const double> /*priorities*/) {}

void UniformSelector::Remove(uint32_t slot) {
  const uint32_t hole = position_[slot];
  slots_[hole] = slots_.back();
  position_[slots_[hole]] = hole;
  slots_.pop_back();
}

void UniformSelector::Clear() {
  slots_.clear();
}

void UniformSelector::SampleBatch(Rng* rng, absl::Span<Draw> draws) {
  const double probability = 1.0 / static_cast<double>(slots_.size());
  for (Draw& draw : draws) {
    draw = {slots_[rng->UniformInt(slots_.size())], probability};
  }
}

}  // namespace waggle
