#pragma once

#include <cstdint>

#include "replay_server/selectors/selector.h"
#include "replay_server/selectors/slot_order.h"

namespace waggle {

// Picks the oldest item, or the newest. Constant time.
class OrderSelector final : public Selector {
 public:
  enum class First { kOldest, kNewest };
  explicit OrderSelector(First first) : first_(first) {}

  void Insert(uint32_t slot, double priority) override;
  void Update(absl::Span<const uint32_t> slots, absl::Span<const double> priorities) override;
  void Remove(uint32_t slot) override;
  void SampleBatch(Rng* rng, absl::Span<Draw> draws) override;
  void SampleDistinct(Rng* rng, absl::Span<Draw> draws) override;
  int64_t size() const override { return order_.size(); }
  double Sum() override { return static_cast<double>(order_.size()); }
  double MinProbability() override { return order_.size() > 0 ? 1 : 0; }

 private:
  const First first_;
  SlotOrder order_;
};

}  // namespace waggle
