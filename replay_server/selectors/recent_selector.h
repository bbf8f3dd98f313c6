#pragma once

#include <cstdint>
#include <vector>

#include "replay_server/selectors/priority_weight.h"
#include "replay_server/selectors/selector.h"
#include "replay_server/selectors/smallest_weight.h"
#include "replay_server/selectors/sum_tree.h"

namespace waggle {

struct RecentSelectorOptions {
  PriorityWeight weight;  // Exponent 0 makes the draws uniform.
  // The share of the draws that are made among the newest items only: max(items, size * decay ^ (1000 k / period)) of
  // them for batch k = 0 … period - 1 of a phase.
  double share = 1;
  int64_t items = 1;
  double decay = 0;
  int64_t period = 1;
  int64_t expected_items = 0;  // Number of items to allocate for at first.
};

// Picks items with probability proportional to their weight, the newest ones more often: "Boosting Soft Actor-Critic:
// Emphasizing Recent Experience without Forgetting the Past" (Wang and Ross 2019, arXiv 1906.04009). Draws of a batch
// are stratified. Draw::probability leaves the emphasis out. Leaves of the sum tree are in order of insertion.
class RecentSelector final : public Selector {
 public:
  explicit RecentSelector(const RecentSelectorOptions& options);

  void Insert(uint32_t slot, double priority) override;
  void Update(absl::Span<const uint32_t> slots, absl::Span<const double> priorities) override;
  void Remove(uint32_t slot) override;
  void SampleBatch(Rng* rng, absl::Span<Draw> draws) override;
  // Draws among all items. No table uses it: recent_share cannot be combined with without_replacement.
  void SampleDistinct(Rng* rng, absl::Span<Draw> draws) override;
  int64_t size() const override { return size_; }
  double Sum() override;
  double MinProbability() override;

  // The number of newest items that the next batch favours.
  int64_t newest() const;

 private:
  void SetWeight(uint32_t position, double weight);
  // Moves the items to the lowest positions, in order, and makes room for as many again.
  void Compact();
  // Draws by weight from position `first` on; `before` is the sum below it. Draws uniformly if these weights are 0.
  void SampleFrom(Rng* rng, uint32_t first, double before, double sum, absl::Span<Draw> draws);

  // The probability that one draw gives an item of this weight. Weight 0 counts as uniform: 0 has no inverse.
  double Probability(double weight, double sum) const;
  // A position. present_ must be up to date.
  uint32_t FirstOfNewest() const;

  const RecentSelectorOptions options_;
  int64_t size_ = 0;
  int64_t batches_ = 0;
  uint32_t next_ = 0;  // Position of the next item.
  // Indexed by position.
  SumTree weights_;
  SumTree present_;  // 1 at positions that have an item.
  std::vector<uint32_t> slots_;
  std::vector<uint32_t> position_;  // By slot.
  SmallestWeight smallest_;
};

}  // namespace waggle
