#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/base/random.h"

// Divides a batch among shards. Pure functions.

namespace waggle {

inline constexpr int64_t kNoCap = int64_t{1} << 40;  // More than any batch has.

// Divides `items` draws with probabilities proportional to the weights. Independent draws are one multinomial draw.
// Otherwise one uniform offset is laid over the cumulated weights, which has the same expectation and hardly any
// variance. Draws above a shard's cap fall to the others. The caps of the shards with weight must add up to at least
// `items`.
std::vector<int64_t> SplitDraws(absl::Span<const double> weights, absl::Span<const int64_t> caps, int64_t items,
                                bool independent, Rng* rng);

// Divides `total`, or all that is allowed if that is less. Leaves remainders that are as equal as possible.
std::vector<int64_t> SplitCounts(absl::Span<const int64_t> allowed, int64_t total);

// Divides `total` equally. The shards that get one more change with `turn`.
std::vector<int64_t> SplitEqually(const std::vector<bool>& takes_part, int64_t total, uint64_t turn);

}  // namespace waggle
