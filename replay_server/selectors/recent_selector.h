#pragma once

#include <cstdint>
#include <vector>

#include "replay_server/selectors/priority_weight.h"
#include "replay_server/selectors/selector.h"
#include "replay_server/selectors/smallest_weight.h"
#include "replay_server/selectors/sum_tree.h"

namespace waggle {

struct RecentSelectorOptions {
  PriorityWeight weight;  // With exponent 0 items are drawn uniformly.
  // This share of the draws is made among the newest items only: max(items, size * decay ^ (1000 k / period)) of them
  // for batch k = 0 … period - 1 of a phase. The others are made among all.
  double share = 1;
  int64_t items = 1;
  double decay = 0;
  int64_t period = 1;
  int64_t expected_items = 0;  // How many to take room for at first.
};

// Picks items with probability proportional to their weight, the newest ones more often: "Boosting Soft Actor-Critic:
// Emphasizing Recent Experience without Forgetting the Past" (Wang and Ross 2019, arXiv 1906.04009). Draws of a batch
// are stratified. The probabilities that it tells leave the emphasis out (Draw::probability).
//
// Its sum tree is ordered by when items came, so that the newest ones are a range of it.
class RecentSelector final : public Selector {
 public:
  explicit RecentSelector(const RecentSelectorOptions& options);

  void Insert(uint32_t slot, double priority) override;
  void Update(absl::Span<const uint32_t> slots, absl::Span<const double> priorities) override;
  void Remove(uint32_t slot) override;
  void SampleBatch(Rng* rng, absl::Span<Draw> draws) override;
  // No table asks for it: the configuration refuses the two together. Draws among all items.
  void SampleDistinct(Rng* rng, absl::Span<Draw> draws) override;
  int64_t size() const override { return size_; }
  double Sum() override;
  double MinProbability() override;

  // Of the newest items, of which the next batch draws.
  int64_t newest() const;

 private:
  void SetWeight(uint32_t position, double weight);
  // Moves the items to the lowest positions, in their order, with room for as many again.
  void Compact();
  // Draws by weight among the items from `first` on, which has `before` below it; by number where they all weigh 0.
  void SampleFrom(Rng* rng, uint32_t first, double before, double sum, absl::Span<Draw> draws);

  // The probability of a drawn item that has this share of all items' `sum`. An item without weight, which is drawn if
  // none of those it is drawn among has any, gets the probability of a uniform draw: 0 has no inverse.
  double Probability(double weight, double sum) const;
  // The position; present_ is up to date.
  uint32_t FirstOfNewest() const;

  const RecentSelectorOptions options_;
  int64_t size_ = 0;
  int64_t batches_ = 0;
  uint32_t next_ = 0;  // The next item's position.
  // By position.
  SumTree weights_;
  SumTree present_;  // 1 where an item is.
  std::vector<uint32_t> slots_;
  std::vector<uint32_t> position_;  // By slot.
  SmallestWeight smallest_;
};

}  // namespace waggle
