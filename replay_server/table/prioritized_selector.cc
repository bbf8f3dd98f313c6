#include "replay_server/table/prioritized_selector.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace waggle {
namespace {

// 2^31 of these add up to a finite number.
constexpr double kMaxWeight = 1e290;
// Room that is taken at first. It costs address space, not memory, until it is used.
constexpr int64_t kMaxInitialSlots = int64_t{1} << 24;
constexpr size_t kStackQueries = 256;

}  // namespace

PrioritizedSelector::PrioritizedSelector(double exponent, int64_t expected_items)
    : exponent_(exponent),
      expected_items_(expected_items),
      tree_(static_cast<size_t>(std::min(expected_items, kMaxInitialSlots))) {}

absl::Status PrioritizedSelector::ValidatePriority(double priority, double exponent) {
  if (!std::isfinite(priority) || priority < 0) {
    return absl::InvalidArgumentError(absl::StrCat("priority ", priority, " is not a finite number >= 0"));
  }
  // Nearly every priority is far from the limit, which is seen without computing its weight.
  const bool may_be_large = priority > 1e100 || (priority > 1 && exponent > 2);
  if (may_be_large && std::pow(priority, exponent) > kMaxWeight) {
    return absl::InvalidArgumentError(absl::StrCat("priority ", priority, " is too large: to the power of ", exponent,
                                                   " (priority_exponent) it is more than ", kMaxWeight));
  }
  return absl::OkStatus();
}

double PrioritizedSelector::Weight(double priority) const {
  if (exponent_ == 1) {
    return priority;
  }
  return exponent_ == 0.5 ? std::sqrt(priority) : std::pow(priority, exponent_);
}

void PrioritizedSelector::SetWeight(uint32_t slot, double weight) {
  histogram_.Remove(tree_.Get(slot));
  histogram_.Add(weight);
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
  SetWeight(slot, Weight(priority));
}

void PrioritizedSelector::Update(absl::Span<const uint32_t> slots, absl::Span<const double> priorities) {
  constexpr size_t kAhead = 16;
  for (size_t i = 0; i < slots.size(); ++i) {
    if (i + kAhead < slots.size()) {
      tree_.Prefetch(slots[i + kAhead]);
    }
    SetWeight(slots[i], Weight(priorities[i]));
  }
}

void PrioritizedSelector::Remove(uint32_t slot) {
  is_in_[slot / 64] &= ~(uint64_t{1} << (slot % 64));
  --size_;
  SetWeight(slot, 0);
}

void PrioritizedSelector::Clear() {
  tree_ = SumTree(static_cast<size_t>(std::min(expected_items_, kMaxInitialSlots)));
  histogram_ = WeightHistogram();
  is_in_.clear();
  size_ = 0;
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
  return sum > 0 ? histogram_.LowerBound() / sum : 1.0 / static_cast<double>(size_);
}

void PrioritizedSelector::SampleBatch(Rng* rng, absl::Span<Draw> draws) {
  const double sum = Sum();
  if (!(sum > 0)) {
    SampleUniformly(rng, draws);
    return;
  }
  const double step = sum / static_cast<double>(draws.size());
  double queries[kStackQueries];
  uint32_t slots[kStackQueries];
  for (size_t begin = 0; begin < draws.size(); begin += kStackQueries) {
    const size_t count = std::min(kStackQueries, draws.size() - begin);
    for (size_t i = 0; i < count; ++i) {
      queries[i] = (static_cast<double>(begin + i) + rng->Uniform()) * step;
    }
    tree_.FindBatch(absl::MakeConstSpan(queries, count), slots);
    for (size_t i = 0; i < count; ++i) {
      draws[begin + i] = {slots[i], tree_.Get(slots[i]) / sum};
    }
  }
}

// Finds items by their rank among those that are in it, in one pass: this is rare, and no structure is kept for it.
void PrioritizedSelector::SampleUniformly(Rng* rng, absl::Span<Draw> draws) {
  std::vector<uint64_t> ranks(draws.size());
  for (uint64_t& rank : ranks) {
    rank = rng->UniformInt(static_cast<uint64_t>(size_));
  }
  std::sort(ranks.begin(), ranks.end());
  const double probability = 1.0 / static_cast<double>(size_);
  uint64_t rank = 0;  // Of the next item.
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
        draws[next] = {slot, probability};
      }
    }
  }
}

}  // namespace waggle
