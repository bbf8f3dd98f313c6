#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "replay_server/selectors/priority_weight.h"
#include "replay_server/selectors/selector.h"
#include "replay_server/selectors/smallest_weight.h"
#include "replay_server/selectors/sum_tree.h"
#include "replay_server/selectors/uniform_selector.h"

namespace waggle {

struct PrioritizedSelectorOptions {
  PriorityWeight weight;
  // Makes the draws of a batch independent. Otherwise a batch of n is stratified: one point is drawn from each of n
  // equal parts of the range of all weights. The expected count of an item, n * probability, and so its importance
  // weight are the same; but counts vary less, and memory is read in order.
  bool independent_draws = false;
  double uniform_share = 0;    // Share of the draws, in [0, 1], that are uniform.
  int64_t expected_items = 0;  // Number of items to allocate for at first.
};

// Picks items with probability proportional to their weight, which is computed when a priority is set. If all weights
// are 0, all items are equally likely, so that an item of priority 0 can still be sampled.
class PrioritizedSelector final : public Selector {
 public:
  explicit PrioritizedSelector(const PrioritizedSelectorOptions& options);

  void Insert(uint32_t slot, double priority) override;
  void Update(absl::Span<const uint32_t> slots, absl::Span<const double> priorities) override;
  void Remove(uint32_t slot) override;
  void SampleBatch(Rng* rng, absl::Span<Draw> draws) override;
  void SampleDistinct(Rng* rng, absl::Span<Draw> draws) override;
  int64_t size() const override { return size_; }
  double Sum() override;
  double MinProbability() override;

 private:
  void SetWeight(uint32_t slot, double weight);
  // The probability that one draw gives an item of this weight. `sum` must be positive.
  double Probability(double weight, double sum) const;
  void SampleByWeight(Rng* rng, double sum, absl::Span<Draw> draws);
  void SampleUniformly(Rng* rng, absl::Span<Draw> draws);
  // Sets the slots of the items at these ranks in slot order. `ranks` must be sorted.
  void FindRanks(const std::vector<uint64_t>& ranks, absl::Span<Draw> draws) const;

  const PrioritizedSelectorOptions options_;
  int64_t size_ = 0;
  SumTree tree_;
  SmallestWeight smallest_;
  int64_t weighing_ = 0;                      // Items of weight > 0.
  std::vector<uint64_t> is_in_;               // A bit a slot.
  std::unique_ptr<UniformSelector> uniform_;  // The same items; null unless a share is uniform.
};

}  // namespace waggle
