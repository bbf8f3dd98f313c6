#include "replay_server/selectors/uniform_selector.h"

#include <utility>

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

void UniformSelector::SampleBatch(Rng* rng, absl::Span<Draw> draws) {
  const double probability = 1.0 / static_cast<double>(slots_.size());
  for (Draw& draw : draws) {
    draw = {slots_[rng->UniformInt(slots_.size())], probability};
  }
}

// The first steps of a shuffle. The changed order stays: it has no meaning.
void UniformSelector::SampleDistinct(Rng* rng, absl::Span<Draw> draws) {
  const double probability = 1.0 / static_cast<double>(slots_.size());
  for (size_t i = 0; i < draws.size(); ++i) {
    const size_t other = i + rng->UniformInt(slots_.size() - i);
    std::swap(slots_[i], slots_[other]);
    position_[slots_[i]] = static_cast<uint32_t>(i);
    position_[slots_[other]] = static_cast<uint32_t>(other);
    draws[i] = {slots_[i], probability};
  }
}

}  // namespace waggle
