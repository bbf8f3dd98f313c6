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

TEST_CASE("a feed counts the lags of its items' policies, and the results of priorities", "[unit]") {
  FakeSampler sampler;
  sampler.policy_version = [](int64_t batch) { return 3 * batch; };
  RecordingUpdater updater;
  TableFeed feed(TableFeedOptions(), &sampler, &updater);
  REQUIRE_OK(feed.Next(5, StopToken()));
  CHECK(feed.batch().size == 4);
  REQUIRE_OK(feed.Prioritize(torch::Tensor()));  // Undefined ones are not sent.
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
  // The counts begin anew, except those over all calls.
  const TableFeed::Counts after = feed.TakeCounts();
  CHECK(after.lags.items == 0);
  CHECK(after.lags.sum == 0);
  CHECK(after.lags.max == 5);
  CHECK(after.priorities.applied == 0);
}

// Gives batches that came while the last step ran.
class AheadSampler : public FakeSampler {
 public:
  absl::StatusOr<SampledBatch> Next(const StopToken& stop) override {
    absl::StatusOr<SampledBatch> batch = FakeSampler::Next(stop);
    batch->sampled_at = came_at;
    return batch;
  }
  absl::Time came_at = absl::InfiniteFuture();
};

TEST_CASE("a batch fetched ahead was younger when it came from replay", "[unit]") {
  AheadSampler sampler;
  RecordingUpdater updater;
  TableFeed feed(TableFeedOptions(), &sampler, &updater);
  REQUIRE_OK(feed.Next(7, StopToken()));  // It came while Next waited: no step passed.
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

TEST_CASE("items that are too old are left out and counted, and a batch without other items is skipped", "[unit]") {
  FakeSampler sampler;
  sampler.policy_version = [](int64_t batch) { return batch == 2 ? 9 : 7; };
  RecordingUpdater updater;
  TableFeedOptions options;
  options.max_policy_lag = 2;
  TableFeed feed(options, &sampler, &updater);
  REQUIRE_OK(feed.Next(9, StopToken()));
  CHECK(feed.batch().size == 4);
  // Batch 1 is three steps old, batch 2 is younger.
  REQUIRE_OK(feed.Next(10, StopToken()));
  CHECK(feed.batch().size == 4);
  CHECK(feed.batch().at("value")[0].item<float>() == 8);
  const TableFeed::Counts counts = feed.TakeCounts();
  CHECK(counts.lags.items == 8);
  CHECK(counts.lags.too_old == 4);
  CHECK(counts.lags.max == 2);
  // A stop ends the wait for a younger batch.
  sampler.stop_when_done = true;
  sampler.batches = 3;
  CHECK(absl::IsCancelled(feed.Next(100, StopToken())));
}

TEST_CASE("items of weights later than the step have no lag, and are counted", "[unit]") {
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
  CHECK(lags.from_later == 16);  // All except those of step 5 itself.
  CHECK(lags.too_old == 0);
  CHECK(lags.sum == 0);
  CHECK(lags.sampled_sum == 0);
  CHECK(lags.max == 0);
}

// Items 0, 1, 2, … in batches of 4; those whose item `is_old` names are three steps old at step 10.
class NumberedSampler : public FakeSampler {
 public:
  absl::StatusOr<SampledBatch> Next(const StopToken& stop) override {
    absl::StatusOr<SampledBatch> batch = FakeSampler::Next(stop);
    if (batch.ok()) {
      char* const versions = batch->bytes.get() + testing::ValueOf(batch->layout->Find(kItemPolicyVersion))->offset;
      for (int64_t row = 0; row < 4; ++row) {
        const int64_t version = is_old(next_++) ? 7 : 10;
        std::memcpy(versions + 8 * row, &version, sizeof(version));
      }
    }
    return batch;
  }
  std::function<bool(int64_t item)> is_old = [](int64_t) { return false; };

 private:
  int64_t next_ = 0;
};

torch::Tensor ItemsOf(const TensorBatch& batch) {
  return batch.at("value").cpu().to(torch::kInt64);
}

TEST_CASE("a batch of several parts has the items of all, in their order", "[unit]") {
  NumberedSampler sampler;
  RecordingUpdater updater;
  TableFeedOptions options;
  options.max_policy_lag = 0;
  options.parts = 3;
  TableFeed feed(options, &sampler, &updater);
  for (int64_t batch = 0; batch < 3; ++batch) {
    REQUIRE_OK(feed.Next(10, StopToken()));
    REQUIRE(feed.batch().size == 12);
    CHECK(torch::equal(ItemsOf(feed.batch()), torch::arange(12 * batch, 12 * batch + 12)));
    CHECK(feed.batch().at(kItemPolicyVersion).size(0) == 12);
  }
  CHECK(sampler.stats().batches == 9);
  CHECK(feed.TakeCounts().lags.items == 36);
}

TEST_CASE("further parts replace those that are too old", "[unit]") {
  NumberedSampler sampler;
  sampler.is_old = [](int64_t item) { return item < 4 || (item >= 8 && item < 12); };
  RecordingUpdater updater;
  TableFeedOptions options;
  options.max_policy_lag = 0;
  options.parts = 2;
  TableFeed feed(options, &sampler, &updater);
  REQUIRE_OK(feed.Next(10, StopToken()));
  CHECK(torch::equal(ItemsOf(feed.batch()), torch::tensor({4, 5, 6, 7, 12, 13, 14, 15}, torch::kInt64)));
  CHECK(feed.TakeCounts().lags.too_old == 8);
  REQUIRE_OK(feed.Next(10, StopToken()));
  CHECK(torch::equal(ItemsOf(feed.batch()), torch::arange(16, 24)));
}

TEST_CASE("a batch that lacks less than a part does not wait for a whole one", "[unit]") {
  NumberedSampler sampler;
  sampler.is_old = [](int64_t item) { return item == 1; };
  sampler.batches = 2;  // A third one would never come.
  RecordingUpdater updater;
  TableFeedOptions options;
  options.max_policy_lag = 0;
  options.parts = 2;
  TableFeed feed(options, &sampler, &updater);
  REQUIRE_OK(feed.Next(10, StopToken()));
  CHECK(torch::equal(ItemsOf(feed.batch()), torch::tensor({0, 2, 3, 4, 5, 6, 7}, torch::kInt64)));
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

TEST_CASE("if some items of a batch are too old the others are kept, with all their fields", "[unit]") {
  CheckWhatIsLeftOut(torch::kCPU);
}

TEST_CASE("items that are not too old are kept on a device too", "[cuda]") {
  if (testing::HasCuda()) {
    CheckWhatIsLeftOut(torch::kCUDA);
  }
}

}  // namespace
}  // namespace waggle
