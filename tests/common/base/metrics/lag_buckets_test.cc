#include "common/base/metrics/lag_buckets.h"

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("each lag has its bucket, whose name gives its lags", "[unit]") {
  const auto name = [](int64_t lag) { return LagBucketName(LagBucket(lag)); };
  CHECK(name(0) == "0");
  CHECK(name(1) == "1");
  CHECK(name(2) == "2");
  CHECK(name(3) == "3-4");
  CHECK(name(4) == "3-4");
  CHECK(name(5) == "5-8");
  CHECK(name(128) == "65-128");
  CHECK(name(129) == "129+");
  CHECK(name(int64_t{1} << 62) == "129+");
  CHECK(LagBucketCounter(3) == "policy_lag/3-4");
  CHECK(LagBucketCounter(kLagBuckets - 1) == "policy_lag/129-");  // The hub accepts this name.
}

}  // namespace
}  // namespace waggle
