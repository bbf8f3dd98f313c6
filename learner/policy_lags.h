#pragma once

#include <array>
#include <cstdint>

#include "common/base/metrics/lag_buckets.h"

namespace waggle {

// The ages of the policies that acted the items learned from: learner steps from the acting weights to the step that
// takes the item. A value.
struct PolicyLags {
  int64_t items = 0;    // Items that were learned from.
  int64_t too_old = 0;  // Items that were left out.
  // Part of `items`: acted by weights that do not exist yet, by the item's own account. Their lag is 0.
  int64_t from_later = 0;
  int64_t sum = 0;          // The sum over `items`, when their gradient was computed.
  int64_t sampled_sum = 0;  // The same when they came from replay; batches fetched ahead wait after that.
  int64_t max = 0;
  std::array<int64_t, kLagBuckets> buckets = {};  // Counts of `items`: see LagBucket.

  void Add(int64_t lag, int64_t lag_when_sampled) {
    ++items;
    sum += lag;
    sampled_sum += lag_when_sampled;
    max = lag > max ? lag : max;
    ++buckets[LagBucket(lag)];
  }

  void Add(const PolicyLags& others) {
    items += others.items;
    too_old += others.too_old;
    sum += others.sum;
    from_later += others.from_later;
    sampled_sum += others.sampled_sum;
    max = others.max > max ? others.max : max;
    for (size_t bucket = 0; bucket < kLagBuckets; ++bucket) {
      buckets[bucket] += others.buckets[bucket];
    }
  }
};

}  // namespace waggle
