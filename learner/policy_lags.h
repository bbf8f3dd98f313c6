#pragma once

#include <array>
#include <cstdint>

#include "common/metrics/lag_buckets.h"

namespace waggle {

// How old the policies were that acted what was learned from, in learner steps between the weights that acted an item
// and the step that takes it. A value.
struct PolicyLags {
  int64_t items = 0;        // That were learned from.
  int64_t too_old = 0;      // That were left out.
  int64_t from_later = 0;   // Of `items`, those that say weights acted them that do not exist yet: their lag is 0.
  int64_t sum = 0;          // Over `items`, when their gradient was computed.
  int64_t sampled_sum = 0;  // The same when they came from replay: what was fetched ahead has waited since.
  int64_t max = 0;
  std::array<int64_t, kLagBuckets> buckets = {};  // Of `items`: see LagBucket.

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
