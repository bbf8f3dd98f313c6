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
  // The draws of a batch do not know of each other. Otherwise a batch of n is stratified: the range of all weights is
  // cut into n equal parts and one point is drawn from each. An item is drawn n * probability times on average either
  // way, so importance weights are the same; but the number of times varies less, and a batch goes through memory in
  // order.
  bool independent_draws = false;
  double uniform_share = 0;    // This share of the draws, in [0, 1], is made uniformly.
  int64_t expected_items = 0;  // How many to take room for at first.
};

// Picks items with probability proportional to their weight, which is computed once when a priority is set.
//
// Where all weights are 0 every item is as likely as the others: no item can be kept from being sampled for ever
// because all of them happen to have priority 0.
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
  // Of one draw of an item that weighs so much, where the sum is positive.
  double Probability(double weight, double sum) const;
  void SampleByWeight(Rng* rng, double sum, absl::Span<Draw> draws);
  void SampleUniformly(Rng* rng, absl::Span<Draw> draws);
  // Sets the slots of the items that have these ranks, in order, among all.
  void FindRanks(const std::vector<uint64_t>& ranks, absl::Span<Draw> draws) const;

  const PrioritizedSelectorOptions options_;
  int64_t size_ = 0;
  SumTree tree_;
  SmallestWeight smallest_;
  int64_t weighing_ = 0;                      // Items that weigh more than 0.
  std::vector<uint64_t> is_in_;               // A bit for each slot.
  std::unique_ptr<UniformSelector> uniform_;  // The same items, where a share is drawn uniformly.
};

}  // namespace waggle
