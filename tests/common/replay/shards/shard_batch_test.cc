#include "common/replay/shards/shard_batch.h"

#include "tests/support/catch.h"

namespace waggle {
namespace {

ShardFacts Facts(int64_t items, double sum, double least) {
  ShardFacts facts;
  facts.items = items;
  facts.priority_sum = sum;
  facts.min_probability = least;
  facts.samples_allowed = 10;
  return facts;
}

// A batch of two shards of equal weight and an empty one, all of which have answered.
ShardBatch Batch() {
  ShardBatch batch;
  batch.number = 7;
  batch.begun = true;
  batch.weights = {2, 2, 0};
  batch.facts = {Facts(4, 8, 0.25), Facts(8, 8, 0.1), Facts(0, 0, 0)};
  batch.missing = {false, false, false};
  batch.rows = {{7, 0, 0, 2}, {7, 1, 2, 2}};
  return batch;
}

std::vector<ShardStanding> Standing(uint64_t last_incarnation) {
  std::vector<ShardStanding> shards(3, ShardStanding(TableConfig()));
  shards[2].facts.incarnation = last_incarnation;
  return shards;
}

TEST_CASE("a batch of several shards has the facts of one table", "[unit]") {
  const CompleteShardBatch complete = Batch().Completed(Standing(1));
  CHECK(complete.number == 7);
  CHECK(complete.rows.size() == 2);
  CHECK(complete.shares == std::vector<double>{0.5, 0.5, 0});
  CHECK(complete.table_items == 12);
  CHECK(complete.priority_sum == 16);
  CHECK(complete.min_probability == 0.05);  // Leaves out the empty shard.
  CHECK(complete.samples_allowed == 30);
  CHECK(complete.missing_shards == 0);
  CHECK(complete.table_incarnation == Batch().Completed(Standing(1)).table_incarnation);
  CHECK(complete.table_incarnation != Batch().Completed(Standing(2)).table_incarnation);
}

TEST_CASE("a lost shard loses its missing rows, not those that it gave", "[unit]") {
  ShardBatch batch = Batch();
  batch.waiting = 1;
  CHECK_FALSE(batch.Ready());
  batch.rows.pop_back();
  batch.LoseShard(1);
  CHECK(batch.Ready());
  const CompleteShardBatch complete = batch.Completed(Standing(1));
  CHECK(complete.shares == std::vector<double>{1, 0, 0});
  CHECK(complete.table_items == 4);
  CHECK(complete.missing_shards == 1);

  ShardBatch given = Batch();
  given.waiting = 1;
  given.LoseShard(1);
  CHECK(given.Completed(Standing(1)).shares == std::vector<double>{0.5, 0.5, 0});
  CHECK(given.Completed(Standing(1)).missing_shards == 1);
}

}  // namespace
}  // namespace waggle
