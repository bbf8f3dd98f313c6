#pragma once

#include <cstdint>
#include <vector>

#include "replay_server/selectors/selector.h"

namespace waggle {

// Picks items by when they were inserted: always the oldest, or always the newest. Constant time.
class OrderSelector final : public Selector {
 public:
  enum class First { kOldest, kNewest };
  explicit OrderSelector(First first) : first_(first) {}

  void Insert(uint32_t slot, double priority) override;
  void Update(absl::Span<const uint32_t> slots, absl::Span<const double> priorities) override;
  void Remove(uint32_t slot) override;
  void SampleBatch(Rng* rng, absl::Span<Draw> draws) override;
  void SampleDistinct(Rng* rng, absl::Span<Draw> draws) override;
  int64_t size() const override { return size_; }
  double Sum() override { return static_cast<double>(size_); }
  double MinProbability() override { return size_ > 0 ? 1 : 0; }

 private:
  // A list through the slots, from the oldest to the newest.
  struct Links {
    uint32_t older;
    uint32_t newer;
  };
  const First first_;
  std::vector<Links> links_;
  uint32_t oldest_ = 0;  // Meaningless where size_ is 0.
  uint32_t newest_ = 0;
  int64_t size_ = 0;
};

}  // namespace waggle
