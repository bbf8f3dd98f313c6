#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

// The histogram of policy lags, which a learner counts and users read: by powers of two.

namespace waggle {

// 0, 1, 2, 3 to 4, 5 to 8, …, 65 to 128, and all above.
inline constexpr size_t kLagBuckets = 10;

// `lag` is at least 0.
inline size_t LagBucket(int64_t lag) {
  size_t bucket = lag == 0 ? 0 : 1;
  for (int64_t bound = 1; bound < lag && bucket + 1 < kLagBuckets; bound *= 2) {
    ++bucket;
  }
  return bucket;
}

// "0", "1", "2", "3-4", …, "129+".
inline std::string LagBucketName(size_t bucket) {
  if (bucket < 3) {
    return absl::StrCat(bucket);
  }
  const int64_t bound = int64_t{1} << (bucket - 1);
  return bucket + 1 == kLagBuckets ? absl::StrCat(bound / 2 + 1, "+") : absl::StrCat(bound / 2 + 1, "-", bound);
}

// The name of the bucket's counter: "policy_lag/129-" for the last, as the hub accepts no "+". The "/" keeps these
// counters out of the figures over time.
inline std::string LagBucketCounter(size_t bucket) {
  return absl::StrCat("policy_lag/", absl::StrReplaceAll(LagBucketName(bucket), {{"+", "-"}}));
}

}  // namespace waggle
