#include "common/replay/shards/shard_shares.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace waggle {
namespace {

std::vector<double> Cumulated(absl::Span<const double> weights) {
  std::vector<double> sums(weights.size());
  std::partial_sum(weights.begin(), weights.end(), sums.begin());
  return sums;
}

// The last weight that is not 0. It gets the remainder of rounding.
size_t LastWithWeight(absl::Span<const double> weights) {
  size_t last = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    last = weights[i] > 0 ? i : last;
  }
  return last;
}

void DrawIndependently(absl::Span<const double> weights, int64_t items, Rng* rng, std::vector<int64_t>* counts) {
  const std::vector<double> sums = Cumulated(weights);
  const size_t last = LastWithWeight(weights);
  for (int64_t i = 0; i < items; ++i) {
    const auto found = std::upper_bound(sums.begin(), sums.end(), rng->Uniform() * sums.back());
    ++(*counts)[std::min(static_cast<size_t>(found - sums.begin()), last)];
  }
}

// Point j lies at (j + offset) / items of the whole.
void DrawSystematically(absl::Span<const double> weights, int64_t items, Rng* rng, std::vector<int64_t>* counts) {
  const std::vector<double> sums = Cumulated(weights);
  const size_t last = LastWithWeight(weights);
  const double offset = rng->Uniform();
  int64_t before = 0;
  for (size_t i = 0; i <= last; ++i) {
    const double end = sums[i] / sums.back() * static_cast<double>(items);
    const int64_t points = i == last ? items : std::clamp(static_cast<int64_t>(std::ceil(end - offset)), before, items);
    (*counts)[i] += points - before;
    before = points;
  }
}

}  // namespace

std::vector<int64_t> SplitDraws(absl::Span<const double> weights, absl::Span<const int64_t> caps, int64_t items,
                                bool independent, Rng* rng) {
  std::vector<int64_t> counts(weights.size());
  std::vector<double> left(weights.begin(), weights.end());
  // Each round but the last fills a shard up to its cap.
  while (items > 0 && std::any_of(left.begin(), left.end(), [](double weight) { return weight > 0; })) {
    if (independent) {
      DrawIndependently(left, items, rng, &counts);
    } else {
      DrawSystematically(left, items, rng, &counts);
    }
    items = 0;
    for (size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] >= caps[i]) {
        items += counts[i] - caps[i];
        counts[i] = caps[i];
        left[i] = 0;
      }
    }
  }
  return counts;
}

std::vector<int64_t> SplitCounts(absl::Span<const int64_t> allowed, int64_t total) {
  std::vector<size_t> order(allowed.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return allowed[a] > allowed[b]; });
  std::vector<int64_t> counts(allowed.size());
  // Lowers the k largest to the level of the next one, or until `total` is used up.
  for (size_t k = 1; k <= order.size() && total > 0; ++k) {
    const int64_t level = std::max<int64_t>(0, allowed[order[k - 1]]);
    const int64_t next = k < order.size() ? std::max<int64_t>(0, allowed[order[k]]) : 0;
    const auto among = static_cast<int64_t>(k);
    const int64_t step = std::min(level - next, total / among);
    for (size_t i = 0; i < k; ++i) {
      counts[order[i]] += step;
    }
    total -= step * among;
    if (step < level - next) {  // Fewer than k are left.
      for (size_t i = 0; i < static_cast<size_t>(total); ++i) {
        ++counts[order[i]];
      }
      total = 0;
    }
  }
  return counts;
}

std::vector<int64_t> SplitEqually(const std::vector<bool>& takes_part, int64_t total, uint64_t turn) {
  const auto among = std::count(takes_part.begin(), takes_part.end(), true);
  std::vector<int64_t> counts(takes_part.size());
  if (among == 0) {
    return counts;
  }
  auto place = static_cast<int64_t>(turn % static_cast<uint64_t>(among));
  for (size_t i = 0; i < counts.size(); ++i) {
    if (takes_part[i]) {
      counts[i] = total / among + (place < total % among ? 1 : 0);
      place = (place + 1) % among;
    }
  }
  return counts;
}

}  // namespace waggle
