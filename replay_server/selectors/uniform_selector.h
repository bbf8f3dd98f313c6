#pragma once

#include <cstdint>
#include <vector>

#include "replay_server/selectors/selector.h"

namespace waggle {

// Picks each item with the same probability. Draws of a batch are independent. Constant time.
class UniformSelector final : public Selector {
 public:
  void Insert(uint32_t slot, double priority) override;
  void Update(absl::Span<const uint32_t> slots, absl::Span<const double> priorities) override;
  void Remove(uint32_t slot) override;
  void SampleBatch(Rng* rng, absl::Span<Draw> draws) override;
  void SampleDistinct(Rng* rng, absl::Span<Draw> draws) override;
  int64_t size() const override { return static_cast<int64_t>(slots_.size()); }
  double Sum() override { return static_cast<double>(slots_.size()); }
  double MinProbability() override { return slots_.empty() ? 0 : 1.0 / static_cast<double>(slots_.size()); }

 private:
  std::vector<uint32_t> slots_;     // In no particular order.
  std::vector<uint32_t> position_;  // Index in slots_, by slot.
};

}  // namespace waggle
