#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "replay_server/table/selector.h"
#include "replay_server/table/sum_tree.h"
#include "replay_server/table/weight_histogram.h"

namespace waggle {

// Picks items with probability proportional to priority ^ exponent, their weight, which is computed once when a
// priority is set. An exponent of 0 gives every item the weight 1.
//
// A batch of n is stratified: the range of all weights is cut into n equal parts and one point is drawn from each. An
// item is drawn n * probability times on average, as with independent draws, so importance weights are the same; but
// the number of times varies less, and a batch goes through memory in order.
//
// Where all weights are 0 every item is as likely as the others: no item can be kept from being sampled for ever
// because all of them happen to have priority 0.
class PrioritizedSelector final : public Selector {
 public:
  // `expected_items` is how many to take room for at first.
  PrioritizedSelector(double exponent, int64_t expected_items);

  // INVALID_ARGUMENT for a priority that is negative or not finite, or so large that a sum of weights could overflow.
  static absl::Status ValidatePriority(double priority, double exponent);

  void Insert(uint32_t slot, double priority) override;
  void Update(absl::Span<const uint32_t> slots, absl::Span<const double> priorities) override;
  void Remove(uint32_t slot) override;
  void Clear() override;
  void SampleBatch(Rng* rng, absl::Span<Draw> draws) override;
  int64_t size() const override { return size_; }
  double Sum() override;
  double MinProbability() override;

 private:
  double Weight(double priority) const;
  void SetWeight(uint32_t slot, double weight);
  void SampleUniformly(Rng* rng, absl::Span<Draw> draws);

  const double exponent_;
  const int64_t expected_items_;
  int64_t size_ = 0;
  SumTree tree_;
  WeightHistogram histogram_;
  std::vector<uint64_t> is_in_;  // A bit for each slot.
};

}  // namespace waggle
