#pragma once

#include <cstdint>
#include <vector>

#include "replay_server/selectors/selector.h"

namespace waggle {

// Always picks the item of the lowest priority, or of the highest. Picks the oldest of equal ones. Takes O(log size).
class HeapSelector final : public Selector {
 public:
  enum class First { kLowest, kHighest };
  explicit HeapSelector(First first) : sign_(first == First::kLowest ? 1 : -1) {}

  void Insert(uint32_t slot, double priority) override;
  void Update(absl::Span<const uint32_t> slots, absl::Span<const double> priorities) override;
  void Remove(uint32_t slot) override;
  void SampleBatch(Rng* rng, absl::Span<Draw> draws) override;
  void SampleDistinct(Rng* rng, absl::Span<Draw> draws) override;
  int64_t size() const override { return static_cast<int64_t>(heap_.size()); }
  double Sum() override { return static_cast<double>(heap_.size()); }
  double MinProbability() override { return heap_.empty() ? 0 : 1; }

 private:
  // The order of items: the smallest is picked first.
  struct Rank {
    double key = 0;
    uint64_t sequence = 0;  // Counts insertions.

    bool operator<(const Rank& other) const {
      return key < other.key || (key == other.key && sequence < other.sequence);
    }
  };

  void Place(size_t position, uint32_t slot);
  void SiftUp(size_t position);
  void SiftDown(size_t position);
  void Push(uint32_t slot);
  void Erase(size_t position);

  const double sign_;
  std::vector<uint32_t> heap_;      // Slots; the parent of position i is (i - 1) / 2 and ranks no later.
  std::vector<uint32_t> position_;  // In heap_, by slot.
  std::vector<Rank> ranks_;         // By slot.
  uint64_t inserted_ = 0;
};

}  // namespace waggle
