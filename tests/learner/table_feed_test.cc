#include "learner/table_feed.h"

#include <iterator>
#include <limits>

#include "common/base/steady_now.h"
#include "tests/learner/fakes.h"
#include "tests/support/catch.h"
#include "tests/support/cuda.h"

namespace waggle {
namespace {

using testing::FakeSampler;
using testing::RecordingUpdater;

TEST_CASE("a feed counts how old the policy was that acted its items, and what became of priorities", "[unit]") {
  FakeSampler sampler;
  sampler.policy_version = [](int64_t batch) { return 3 * batch; };
  RecordingUpdater updater;
  TableFeed feed(TableFeedOptions(), &sampler, &updater);
  REQUIRE_OK(feed.Next(5, StopToken()));
  CHECK(feed.batch().size == 4);
  REQUIRE_OK(feed.Prioritize(feed.batch().at("value")));
  REQUIRE_OK(feed.Next(6, StopToken()));
  const TableFeed::Counts counts = feed.TakeCounts();
  CHECK(counts.lags.items == 8);
  CHECK(counts.lags.too_old == 0);
  CHECK(counts.lags.sum == 4 * 5 + 4 * 3);
  CHECK(counts.lags.max == 5);
  CHECK(counts.priorities.applied == 4);
  REQUIRE(updater.items.size() == 4);
  CHECK(updater.items[3].key == 3);
  CHECK(updater.items[3].priority == 3);
  // What was counted is not counted again, but for what is of all so far.
  const TableFeed::Counts after = feed.TakeCounts();
  CHECK(after.lags.items == 0);
  CHECK(after.lags.sum == 0);
  CHECK(after.lags.max == 5);
  CHECK(after.priorities.applied == 0);
}

// Gives batches that came while the step before was learned from.
class AheadSampler : public FakeSampler {
 public:
  absl::StatusOr<SampledBatch> Next(const StopToken& stop) override {
    absl::StatusOr<SampledBatch> batch = FakeSampler::Next(stop);
    batch->sampled_at = came_at;
    return batch;
  }
  absl::Time came_at = absl::InfiniteFuture();
};

TEST_CASE("what was fetched ahead was younger when it came from replay", "[unit]") {
  AheadSampler sampler;
  RecordingUpdater updater;
  TableFeed feed(TableFeedOptions(), &sampler, &updater);
  REQUIRE_OK(feed.Next(7, StopToken()));  // Waited for: learned from at once.
  CHECK(feed.TakeCounts().lags.sampled_sum == 4 * 7);
  const absl::Time before = SteadyNow();
  REQUIRE_OK(feed.Next(8, StopToken()));
  feed.TakeCounts();
  sampler.came_at = before;  // Before step 8 began, and step 9.
  REQUIRE_OK(feed.Next(9, StopToken()));
  const PolicyLags lags = feed.TakeCounts().lags;
  CHECK(lags.sum == 4 * 9);
  CHECK(lags.sampled_sum == 4 * 7);
  CHECK(lags.buckets[LagBucket(9)] == 4);
}

TEST_CASE("priorities that there are none of send nothing", "[unit]") {
  FakeSampler sampler;
  RecordingUpdater updater;
  TableFeed feed(TableFeedOptions(), &sampler, &updater);
  REQUIRE_OK(feed.Next(0, StopToken()));
  REQUIRE_OK(feed.Prioritize(torch::Tensor()));
  CHECK(updater.items.empty());
}

TEST_CASE("items that are too old are left out and counted, and a batch of no others is passed over", "[unit]") {
  FakeSampler sampler;
  sampler.policy_version = [](int64_t batch) { return batch == 2 ? 9 : 7; };
  RecordingUpdater updater;
  TableFeedOptions options;
  options.max_policy_lag = 2;
  TableFeed feed(options, &sampler, &updater);
  REQUIRE_OK(feed.Next(9, StopToken()));
  CHECK(feed.batch().size == 4);
  // Batch 1 is three steps old, batch 2 is not.
  REQUIRE_OK(feed.Next(10, StopToken()));
  CHECK(feed.batch().size == 4);
  CHECK(feed.batch().at("value")[0].item<float>() == 8);
  const TableFeed::Counts counts = feed.TakeCounts();
  CHECK(counts.lags.items == 8);
  CHECK(counts.lags.too_old == 4);
  CHECK(counts.lags.max == 2);
  // A stop ends the wait for one that is not.
  sampler.stop_when_done = true;
  sampler.batches = 3;
  CHECK(absl::IsCancelled(feed.Next(100, StopToken())));
}

TEST_CASE("items of weights that are later than the step are learned from with no lag, and counted", "[unit]") {
  FakeSampler sampler;
  const int64_t versions[] = {int64_t{1} << 62, -1, std::numeric_limits<int64_t>::min(), 6, 5};
  sampler.policy_version = [&versions](int64_t batch) { return versions[batch]; };
  RecordingUpdater updater;
  TableFeedOptions options;
  options.max_policy_lag = 0;
  TableFeed feed(options, &sampler, &updater);
  for (size_t batch = 0; batch < std::size(versions); ++batch) {
    REQUIRE_OK(feed.Next(5, StopToken()));
    CHECK(feed.batch().size == 4);
  }
  const PolicyLags lags = feed.TakeCounts().lags;
  CHECK(lags.items == 20);
  CHECK(lags.from_later == 16);  // All but those of step 5 itself.
  CHECK(lags.too_old == 0);
  CHECK(lags.sum == 0);
  CHECK(lags.sampled_sum == 0);
  CHECK(lags.max == 0);
}

class MixedSampler : public FakeSampler {
 public:
  absl::StatusOr<SampledBatch> Next(const StopToken& stop) override {
    absl::StatusOr<SampledBatch> batch = FakeSampler::Next(stop);
    char* const versions = batch->bytes.get() + testing::ValueOf(batch->layout->Find(kItemPolicyVersion))->offset;
    const int64_t mixed[] = {4, 1, 5, 0};
    std::memcpy(versions, mixed, sizeof(mixed));
    return batch;
  }
};

void CheckWhatIsLeftOut(torch::Device device) {
  MixedSampler sampler;
  RecordingUpdater updater;
  TableFeedOptions options;
  options.device = device;
  options.max_policy_lag = 1;
  TableFeed feed(options, &sampler, &updater);
  REQUIRE_OK(feed.Next(5, StopToken()));
  REQUIRE(feed.batch().size == 2);
  CHECK(torch::equal(feed.batch().at("value").cpu(), torch::tensor({0.F, 2.F})));
  CHECK(torch::equal(feed.batch().at(kItemPolicyVersion).cpu(), torch::tensor({4, 5}, torch::kInt64)));
  CHECK(feed.TakeCounts().lags.sum == 1);
}

TEST_CASE("of a batch in which some items are too old the others are kept, with all their fields", "[unit]") {
  CheckWhatIsLeftOut(torch::kCPU);
}

TEST_CASE("on a device too the items that are not too old are kept", "[cuda]") {
  if (testing::HasCuda()) {
    CheckWhatIsLeftOut(torch::kCUDA);
  }
}

}  // namespace
}  // namespace waggle
