#include "replay_server/selectors/prioritized_selector.h"

#include <algorithm>
#include <cmath>

namespace waggle {
namespace {

// Limit of the first allocation. It costs address space, not memory, until it is used.
constexpr int64_t kMaxInitialSlots = int64_t{1} << 24;
constexpr size_t kStackQueries = 256;

}  // namespace

PrioritizedSelector::PrioritizedSelector(const PrioritizedSelectorOptions& options)
    : options_(options), tree_(static_cast<size_t>(std::min(options.expected_items, kMaxInitialSlots))) {
  if (options.uniform_share > 0) {
    uniform_ = std::make_unique<UniformSelector>();
  }
}

void PrioritizedSelector::SetWeight(uint32_t slot, double weight) {
  const double before = tree_.Get(slot);
  smallest_.Change(slot, before, weight);
  weighing_ += (weight > 0 ? 1 : 0) - (before > 0 ? 1 : 0);
  tree_.SetLater(slot, weight);
}

void PrioritizedSelector::Insert(uint32_t slot, double priority) {
  if (slot >= tree_.capacity()) {
    tree_.Rebuild();
    tree_.Grow(std::max<size_t>(slot + size_t{1}, 2 * tree_.capacity()));
  }
  if (slot / 64 >= is_in_.size()) {
    is_in_.resize(slot / 64 + size_t{1});
  }
  is_in_[slot / 64] |= uint64_t{1} << (slot % 64);
  ++size_;
  SetWeight(slot, options_.weight(priority));
  if (uniform_ != nullptr) {
    uniform_->Insert(slot, priority);
  }
}

void PrioritizedSelector::Update(absl::Span<const uint32_t> slots, absl::Span<const double> priorities) {
  constexpr size_t kAhead = 16;
  for (size_t i = 0; i < slots.size(); ++i) {
    if (i + kAhead < slots.size()) {
      tree_.Prefetch(slots[i + kAhead]);
    }
    SetWeight(slots[i], options_.weight(priorities[i]));
  }
}

void PrioritizedSelector::Remove(uint32_t slot) {
  is_in_[slot / 64] &= ~(uint64_t{1} << (slot % 64));
  --size_;
  SetWeight(slot, 0);
  if (uniform_ != nullptr) {
    uniform_->Remove(slot);
  }
}

double PrioritizedSelector::Sum() {
  tree_.Rebuild();
  return tree_.Sum();
}

double PrioritizedSelector::MinProbability() {
  if (size_ == 0) {
    return 0;
  }
  const double sum = Sum();
  if (!(sum > 0)) {
    return 1.0 / static_cast<double>(size_);
  }
  // An item of weight 0 is drawn by the uniform share or never.
  const bool without_weight = uniform_ != nullptr && weighing_ < size_;
  return Probability(without_weight ? 0 : smallest_.Of(tree_), sum);
}

double PrioritizedSelector::Probability(double weight, double sum) const {
  const double by_weight = weight / sum;
  return uniform_ == nullptr
             ? by_weight
             : options_.uniform_share / static_cast<double>(size_) + (1 - options_.uniform_share) * by_weight;
}

void PrioritizedSelector::SampleBatch(Rng* rng, absl::Span<Draw> draws) {
  const double sum = Sum();
  if (!(sum > 0)) {
    SampleUniformly(rng, draws);
    return;
  }
  size_t uniform = 0;
  if (uniform_ != nullptr) {
    // The average over batches is exactly the share.
    uniform = static_cast<size_t>(options_.uniform_share * static_cast<double>(draws.size()) + rng->Uniform());
    uniform = std::min(uniform, draws.size());
    uniform_->SampleBatch(rng, draws.subspan(0, uniform));
    for (Draw& draw : draws.subspan(0, uniform)) {
      draw.probability = Probability(tree_.Get(draw.slot), sum);
    }
  }
  SampleByWeight(rng, sum, draws.subspan(uniform));
}

void PrioritizedSelector::SampleByWeight(Rng* rng, double sum, absl::Span<Draw> draws) {
  const double step = sum / static_cast<double>(draws.size());
  double queries[kStackQueries];
  uint32_t slots[kStackQueries];
  for (size_t begin = 0; begin < draws.size(); begin += kStackQueries) {
    const size_t count = std::min(kStackQueries, draws.size() - begin);
    for (size_t i = 0; i < count; ++i) {
      queries[i] =
          options_.independent_draws ? rng->Uniform() * sum : (static_cast<double>(begin + i) + rng->Uniform()) * step;
    }
    tree_.FindBatch(absl::MakeConstSpan(queries, count), slots);
    for (size_t i = 0; i < count; ++i) {
      draws[begin + i] = {slots[i], Probability(tree_.Get(slots[i]), sum)};
    }
  }
}

// Drawn items have weight 0 until the end. Tables that draw this way have no uniform share.
void PrioritizedSelector::SampleDistinct(Rng* rng, absl::Span<Draw> draws) {
  const double sum = Sum();
  std::vector<double> weights;
  weights.reserve(draws.size());
  for (size_t i = 0; i < draws.size() && tree_.Sum() > 0; ++i) {
    const auto slot = static_cast<uint32_t>(tree_.Find(rng->Uniform() * tree_.Sum()));
    draws[i] = {slot, Probability(tree_.Get(slot), sum)};
    weights.push_back(tree_.Get(slot));
    is_in_[slot / 64] &= ~(uint64_t{1} << (slot % 64));
    tree_.Set(slot, 0);
  }
  const size_t weighted = weights.size();
  if (weighted < draws.size()) {  // The others have weight 0.
    const auto left = static_cast<uint64_t>(size_) - weighted;
    std::vector<uint64_t> ranks(left);
    for (uint64_t i = 0; i < left; ++i) {
      ranks[i] = i;
    }
    for (size_t i = 0; i < draws.size() - weighted; ++i) {
      std::swap(ranks[i], ranks[i + rng->UniformInt(left - i)]);
    }
    ranks.resize(draws.size() - weighted);
    std::sort(ranks.begin(), ranks.end());
    FindRanks(ranks, draws.subspan(weighted));
    for (Draw& draw : draws.subspan(weighted)) {
      draw.probability = 1.0 / static_cast<double>(size_);  // A single draw gives none of them, but 0 has no inverse.
    }
  }
  for (size_t i = 0; i < weighted; ++i) {
    is_in_[draws[i].slot / 64] |= uint64_t{1} << (draws[i].slot % 64);
    tree_.SetLater(draws[i].slot, weights[i]);
  }
}

void PrioritizedSelector::SampleUniformly(Rng* rng, absl::Span<Draw> draws) {
  std::vector<uint64_t> ranks(draws.size());
  for (uint64_t& rank : ranks) {
    rank = rng->UniformInt(static_cast<uint64_t>(size_));
  }
  std::sort(ranks.begin(), ranks.end());
  FindRanks(ranks, draws);
  for (Draw& draw : draws) {
    draw.probability = 1.0 / static_cast<double>(size_);
  }
}

// One pass over all slots: this is too rare to keep an index for it.
void PrioritizedSelector::FindRanks(const std::vector<uint64_t>& ranks, absl::Span<Draw> draws) const {
  uint64_t rank = 0;  // Rank of the next item.
  size_t next = 0;
  for (size_t word = 0; next < ranks.size(); ++word) {
    const auto in_word = static_cast<uint64_t>(__builtin_popcountll(is_in_[word]));
    if (ranks[next] >= rank + in_word) {
      rank += in_word;
      continue;
    }
    for (uint64_t bits = is_in_[word]; bits != 0; bits &= bits - 1, ++rank) {
      const auto slot = static_cast<uint32_t>(word * 64 + static_cast<size_t>(__builtin_ctzll(bits)));
      for (; next < ranks.size() && ranks[next] == rank; ++next) {
        draws[next].slot = slot;
      }
    }
  }
}

}  // namespace waggle
