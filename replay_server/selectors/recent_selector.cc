#include "replay_server/selectors/recent_selector.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace waggle {
namespace {

constexpr int64_t kMaxInitialItems = int64_t{1} << 22;
constexpr size_t kLeastPositions = 64;

}  // namespace

RecentSelector::RecentSelector(const RecentSelectorOptions& options)
    : options_(options),
      weights_(std::max(kLeastPositions, static_cast<size_t>(2 * std::min(options.expected_items, kMaxInitialItems)))),
      present_(weights_.capacity()),
      slots_(weights_.capacity()) {}

void RecentSelector::SetWeight(uint32_t position, double weight) {
  smallest_.Change(position, weights_.Get(position), weight);
  weights_.SetLater(position, weight);
}

void RecentSelector::Compact() {
  const size_t capacity = std::max(kLeastPositions, 2 * static_cast<size_t>(size_) + 2);
  std::vector<double> weights(std::max(capacity, weights_.capacity()));
  std::vector<double> present(weights.size());
  std::vector<uint32_t> slots(weights.size());
  uint32_t to = 0;
  for (uint32_t from = 0; from < next_; ++from) {
    if (present_.Get(from) > 0) {
      weights[to] = weights_.Get(from);
      present[to] = 1;
      slots[to] = slots_[from];
      position_[slots[to]] = to;
      ++to;
    }
  }
  next_ = to;
  weights_ = SumTree(weights);
  present_ = SumTree(present);
  slots_ = std::move(slots);
  smallest_.Restart(weights_);
}

void RecentSelector::Insert(uint32_t slot, double priority) {
  if (next_ == weights_.capacity()) {
    Compact();
  }
  if (slot >= position_.size()) {
    position_.resize(slot + size_t{1});
  }
  position_[slot] = next_;
  slots_[next_] = slot;
  present_.SetLater(next_, 1);
  SetWeight(next_, options_.weight(priority));
  ++next_;
  ++size_;
}

void RecentSelector::Update(absl::Span<const uint32_t> slots, absl::Span<const double> priorities) {
  for (size_t i = 0; i < slots.size(); ++i) {
    SetWeight(position_[slots[i]], options_.weight(priorities[i]));
  }
}

void RecentSelector::Remove(uint32_t slot) {
  present_.SetLater(position_[slot], 0);
  SetWeight(position_[slot], 0);
  --size_;
}

double RecentSelector::Sum() {
  weights_.Rebuild();
  return weights_.Sum();
}

double RecentSelector::MinProbability() {
  if (size_ == 0) {
    return 0;
  }
  const double sum = Sum();
  present_.Rebuild();
  const uint32_t first = FirstOfNewest();
  const double least = Probability(smallest_.Of(weights_, first, next_), sum);
  const double older = options_.share < 1 ? smallest_.Of(weights_, 0, first) : 0;
  return older > 0 ? std::min(least, older / sum) : least;
}

double RecentSelector::Probability(double weight, double sum) const {
  return weight > 0 ? weight / sum : 1.0 / static_cast<double>(size_);
}

uint32_t RecentSelector::FirstOfNewest() const {
  return static_cast<uint32_t>(present_.Find(static_cast<double>(size_ - newest()) + 0.5));
}

int64_t RecentSelector::newest() const {
  const auto batch = static_cast<double>(batches_ % options_.period);
  const double exponent = 1000 * batch / static_cast<double>(options_.period);
  const double newest = static_cast<double>(size_) * (options_.decay > 0 ? std::pow(options_.decay, exponent) : 0);
  return std::clamp(static_cast<int64_t>(newest), std::min(options_.items, size_), size_);
}

void RecentSelector::SampleBatch(Rng* rng, absl::Span<Draw> draws) {
  weights_.Rebuild();
  present_.Rebuild();
  const double sum = weights_.Sum();
  const uint32_t first = FirstOfNewest();
  const double before = weights_.SumBefore(first);
  ++batches_;
  const auto recent =
      std::min(draws.size(), static_cast<size_t>(options_.share * static_cast<double>(draws.size()) + rng->Uniform()));
  SampleFrom(rng, first, before, sum, draws.subspan(0, recent));
  SampleFrom(rng, 0, 0, sum, draws.subspan(recent));
  for (Draw& draw : draws) {
    draw.probability = Probability(weights_.Get(position_[draw.slot]), sum);
  }
}

void RecentSelector::SampleFrom(Rng* rng, uint32_t first, double before, double sum, absl::Span<Draw> draws) {
  const bool by_weight = sum > before;
  const SumTree& tree = by_weight ? weights_ : present_;
  const double from = by_weight ? before : present_.SumBefore(first);
  const double step = (tree.Sum() - from) / static_cast<double>(draws.size());
  for (size_t i = 0; i < draws.size(); ++i) {
    auto position = static_cast<uint32_t>(tree.Find(from + (static_cast<double>(i) + rng->Uniform()) * step));
    if (position < first) {  // Caused by rounding.
      position = static_cast<uint32_t>(present_.Find(present_.SumBefore(first) + 0.5));
    }
    draws[i].slot = slots_[position];
  }
}

void RecentSelector::SampleDistinct(Rng* rng, absl::Span<Draw> draws) {
  const double sum = Sum();
  std::vector<double> weights(draws.size());
  for (size_t i = 0; i < draws.size(); ++i) {
    present_.Rebuild();
    const SumTree& tree = weights_.Sum() > 0 ? weights_ : present_;
    const auto position = static_cast<uint32_t>(tree.Find(rng->Uniform() * tree.Sum()));
    weights[i] = weights_.Get(position);
    draws[i] = {slots_[position], Probability(weights[i], sum)};
    weights_.Set(position, 0);
    present_.Set(position, 0);
  }
  for (size_t i = 0; i < draws.size(); ++i) {
    weights_.SetLater(position_[draws[i].slot], weights[i]);
    present_.SetLater(position_[draws[i].slot], 1);
  }
}

}  // namespace waggle
