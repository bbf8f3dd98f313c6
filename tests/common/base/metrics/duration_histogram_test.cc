#include "common/base/metrics/duration_histogram.h"

#include <numeric>

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("durations are counted by their lengths, up to each bound", "[unit]") {
  DurationHistogram histogram;
  histogram.Observe(absl::ZeroDuration());
  histogram.Observe(absl::Microseconds(100));
  histogram.Observe(absl::Microseconds(101));
  histogram.Observe(absl::Seconds(100));
  histogram.Observe(absl::Seconds(101));
  const DurationHistogram::Counts counts = histogram.counts();
  CHECK(counts.buckets[0] == 2);
  CHECK(counts.buckets[1] == 1);
  CHECK(counts.buckets[DurationHistogram::kBuckets - 2] == 1);
  CHECK(counts.buckets[DurationHistogram::kBuckets - 1] == 1);
  CHECK(std::accumulate(counts.buckets.begin(), counts.buckets.end(), int64_t{0}) == 5);
  CHECK(counts.seconds == Approx(201.000201));
}

}  // namespace
}  // namespace waggle
