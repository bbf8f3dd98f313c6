#include "common/config/table/shard_config.h"

#include <set>
#include <string>

#include "tests/support/catch.h"
#include "tests/support/replay_fixtures.h"

namespace waggle {
namespace {

using testing::SimpleTable;
using testing::ValueOf;

TableConfig Whole() {
  TableConfig config = SimpleTable("t");
  config.max_items = 1001;
  config.max_bytes = (int64_t{1} << 30) + 1;
  config.rate_limiter.samples_per_insert = 4;
  config.rate_limiter.min_items = 100;
  config.rate_limiter.error_buffer = 1000;
  return config;
}

}  // namespace

TEST_CASE("the parts of a table add up to it", "[unit]") {
  for (const int64_t shards : {1, 2, 3, 5, 7, 64}) {
    TableConfig config = Whole();
    config.memory_limit = 12'345;
    config.sampler.kind = SelectorKind::kPrioritized;
    config.sampler.recent_share = 0.5;
    config.sampler.recent_items = 5000;
    int64_t items = 0;
    int64_t bytes = 0;
    int64_t memory = 0;
    int64_t min_items = 0;
    int64_t recent = 0;
    double min_difference = 0;
    double max_difference = 0;
    std::set<uint64_t> seeds;
    for (int64_t i = 0; i < shards; ++i) {
      const TableConfig part = ValueOf(ShardConfig(config, i, shards));
      REQUIRE_OK(part.Validate());
      items += part.max_items;
      bytes += part.max_bytes;
      memory += part.memory_limit;
      recent += part.sampler.recent_items;
      min_items += part.rate_limiter.min_items;
      min_difference += part.rate_limiter.MinDifference();
      max_difference += part.rate_limiter.MaxDifference();
      seeds.insert(part.seed);
    }
    REQUIRE(items == config.max_items);
    REQUIRE(bytes == config.max_bytes);
    REQUIRE(memory == config.memory_limit);
    REQUIRE(recent == 5000);
    REQUIRE(min_items == 100);
    REQUIRE(min_difference == Approx(config.rate_limiter.MinDifference()));
    REQUIRE(max_difference == Approx(config.rate_limiter.MaxDifference()));
    REQUIRE(static_cast<int64_t>(seeds.size()) == shards);
  }
}

TEST_CASE("one shard is the table itself", "[unit]") {
  REQUIRE(Differences(ValueOf(ShardConfig(Whole(), 0, 1)), Whole()).empty());
}

TEST_CASE("every shard needs one item before it is sampled, even if the whole needs fewer", "[unit]") {
  TableConfig config = SimpleTable("t");
  for (int64_t i = 0; i < 3; ++i) {
    REQUIRE(ValueOf(ShardConfig(config, i, 3)).rate_limiter.min_items == 1);
  }
}

TEST_CASE("bounds of the difference are divided too", "[unit]") {
  TableConfig config = SimpleTable("t");
  MakeQueue(9, &config);
  const TableConfig part = ValueOf(ShardConfig(config, 2, 3));
  REQUIRE(part.rate_limiter.MinDifference() == 0);
  REQUIRE(part.rate_limiter.MaxDifference() == 3);
  REQUIRE(part.max_items == 3);
}

TEST_CASE("a setting that is too small for the shards is named", "[unit]") {
  TableConfig config = Whole();
  config.max_items = 150;
  config.rate_limiter.min_items = 1;
  REQUIRE_THAT(std::string(ShardConfig(config, 0, 200).status().message()),
               Catch::Contains("max_items: 150 is too small for 200 replay servers"));
  config = Whole();
  config.rate_limiter.error_buffer = 7;
  REQUIRE_OK(ShardConfig(config, 0, 2));
  REQUIRE_THAT(
      std::string(ShardConfig(config, 0, 3).status().message()),
      Catch::Contains("rate_limiter.error_buffer: twice its value is 14, which is too small for 3 replay servers: "
                      "each needs 5"));
  config.max_items = 0;
  REQUIRE_CODE(ShardConfig(config, 0, 2), absl::StatusCode::kInvalidArgument);
  REQUIRE_CODE(ShardConfig(Whole(), 2, 2), absl::StatusCode::kInvalidArgument);
  REQUIRE_CODE(ShardConfig(Whole(), 0, kMaxShards + 1), absl::StatusCode::kInvalidArgument);
}

TEST_CASE("one shard alone must be able to give a batch", "[unit]") {
  TableConfig config = Whole();  // Each of 4 has room for 500 between its bounds.
  REQUIRE_OK(CheckShardedBatch(config, 4, 496));
  const absl::Status refused = CheckShardedBatch(config, 4, 497);
  REQUIRE_CODE(refused, absl::StatusCode::kFailedPrecondition);
  REQUIRE_THAT(
      std::string(refused.message()),
      Catch::Contains("rate_limiter.error_buffer: 1000 is too small for 4 replay servers and batches of 497: it "
                      "must be at least 1002"));
  config.rate_limiter.error_buffer = 1002;
  REQUIRE_OK(CheckShardedBatch(config, 4, 497));
  config = SimpleTable("t");
  REQUIRE_OK(CheckShardedBatch(config, 4, 1'000'000));
  config.max_items = 40;
  config.sampler.without_replacement = true;
  REQUIRE_OK(CheckShardedBatch(config, 4, 10));
  REQUIRE_THAT(std::string(CheckShardedBatch(config, 4, 11).message()), Catch::Contains("max_items: 40 is too small"));
  config.sampler.without_replacement = false;
  config.max_times_sampled = 2;
  REQUIRE_OK(CheckShardedBatch(config, 4, 20));
  REQUIRE_CODE(CheckShardedBatch(config, 4, 21), absl::StatusCode::kFailedPrecondition);
  config.rate_limiter.samples_per_insert = 3;
  config.rate_limiter.error_buffer = 100;
  REQUIRE_THAT(std::string(CheckShardedBatch(config, 4, 5).message()), Catch::Contains("max_times_sampled: 2"));
}

}  // namespace waggle
