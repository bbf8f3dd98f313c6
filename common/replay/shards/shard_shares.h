#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/base/random.h"

// How a batch is divided among the shards that it is drawn from. Pure functions.

namespace waggle {

inline constexpr int64_t kNoCap = int64_t{1} << 40;  // More than any batch has.

// How many of `items` draws fall to each shard, with probabilities proportional to the weights: as many in all, and
// none to a shard without weight. Independent draws are one multinomial draw; otherwise one uniform offset is laid over
// the cumulated weights, which has the same expectation and hardly any variance. What exceeds a shard's cap falls to
// the others; the caps of those with weight add up to `items` at least.
std::vector<int64_t> SplitDraws(absl::Span<const double> weights, absl::Span<const int64_t> caps, int64_t items,
                                bool independent, Rng* rng);

// Parts of `total`, of each shard at most what it allows, that leave what is left as equal as can be. They add up to
// `total`, or to everything that is allowed where that is less.
std::vector<int64_t> SplitCounts(absl::Span<const int64_t> allowed, int64_t total);

// Equal parts of `total` for those that take part; which ones get one more changes with `turn`.
std::vector<int64_t> SplitEqually(const std::vector<bool>& takes_part, int64_t total, uint64_t turn);

}  // namespace waggle
