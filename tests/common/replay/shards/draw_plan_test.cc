#include "common/replay/shards/draw_plan.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "tests/common/replay/shards/drawn_items.h"

namespace waggle {

using testing::CheckDistribution;
using testing::Prioritized;
using testing::SimulatedShards;
using testing::SmallTable;

TEST_CASE("items of shards are drawn as those of one table, however they are spread", "[unit]") {
  const auto shards = GENERATE(int64_t{1}, 2, 3, 5);
  const bool independent = GENERATE(false, true);
  const bool even = GENERATE(true, false);
  CAPTURE(shards, independent, even);
  SimulatedShards simulated(Prioritized(independent), shards, 64, 3);
  std::map<int64_t, double> weights;
  for (int64_t id = 0; id < 60; ++id) {
    // Uneven: nearly all of the sum is in the first shard, and nearly all items are in the last one.
    const int64_t place = even ? id % shards : id < 5 ? 0 : id < 10 ? shards / 2 : shards - 1;
    weights[id] = even ? 1.0 + static_cast<double>(id % 7) : id < 5 ? 500.0 : 1.0;
    simulated.Insert(static_cast<size_t>(place), id, weights[id]);
  }
  simulated.OpenAll();
  double sum = 0;
  for (const auto& [id, weight] : weights) {
    sum += weight;
  }
  CheckDistribution(&simulated, weights, 600, sum);
}

TEST_CASE("an empty shard and one of priority 0 take no draws", "[unit]") {
  SimulatedShards simulated(Prioritized(), 3, 32);
  std::map<int64_t, double> weights;
  for (int64_t id = 0; id < 20; ++id) {
    weights[id] = static_cast<double>(1 + id % 3);
    simulated.Insert(0, id, weights[id]);
  }
  simulated.Insert(2, 100, 0);
  simulated.OpenAll();
  CheckDistribution(&simulated, weights, 400, 39);
  REQUIRE(simulated.Take().facts.table_items == 21);
  REQUIRE(simulated.Take().facts.missing_shards == 0);
}

TEST_CASE("all items are equally likely if all priorities are 0", "[unit]") {
  SimulatedShards simulated(Prioritized(), 2, 30);
  std::map<int64_t, int> counts;
  for (int64_t id = 0; id < 10; ++id) {
    simulated.Insert(id < 9 ? 0 : 1, id, 0);
  }
  simulated.OpenAll();
  for (int i = 0; i < 200; ++i) {
    for (const SimulatedShards::Item& item : simulated.Take().items) {
      REQUIRE(item.probability == Approx(0.1));
      ++counts[item.id];
    }
  }
  for (const auto& [id, count] : counts) {
    REQUIRE(count == Approx(600).epsilon(0.2));
  }
}

TEST_CASE("weights of a batch from two shards are those of one table", "[unit]") {
  TableConfig config = Prioritized();
  config.sampler.priority_exponent = 0.6;
  config.sampler.priority_epsilon = 0.01;
  SimulatedShards simulated(config, 2, 64);
  for (int64_t id = 0; id < 900; ++id) {
    simulated.Insert(0, id, 1);
  }
  for (int64_t id = 900; id < 1000; ++id) {
    simulated.Insert(1, id, 10);
  }
  simulated.OpenAll();
  for (int i = 0; i < 100; ++i) {
    const SimulatedShards::Batch batch = simulated.Take();
    const auto from_first = std::count_if(batch.items.begin(), batch.items.end(),
                                          [](const SimulatedShards::Item& item) { return item.shard == 0; });
    REQUIRE((from_first == 44 || from_first == 45));  // 44.45 on average.
    double least = 1;
    for (const SimulatedShards::Item& item : batch.items) {
      least = std::min(least, item.probability);
    }
    for (const SimulatedShards::Item& item : batch.items) {
      const double weight = std::pow(least / item.probability, 0.4);
      REQUIRE(weight == Approx(item.shard == 0 ? 1.0 : 0.577).epsilon(0.001));
    }
  }
}

TEST_CASE("weights of a batch from two shards with another one empty", "[unit]") {
  TableConfig config = Prioritized();
  config.sampler.priority_exponent = 0.6;
  config.sampler.priority_epsilon = 0.01;
  SimulatedShards simulated(config, 3, 10);
  for (const size_t shard : {size_t{0}, size_t{2}}) {
    for (int64_t id = 0; id < 5; ++id) {
      simulated.Insert(shard, id, id < 3 ? 1 : 0.3);
    }
  }
  simulated.OpenAll();
  for (int i = 0; i < 50; ++i) {
    const SimulatedShards::Batch batch = simulated.Take();
    REQUIRE(batch.items.size() == 10);
    for (const SimulatedShards::Item& item : batch.items) {
      const double weight = std::pow(batch.facts.min_probability / item.probability, 0.4);
      REQUIRE(weight == Approx(item.priority == 1 ? 0.753164 : 1.0).epsilon(0.02));  // The bound is tight to 4 %.
    }
  }
}

TEST_CASE("importance weights are unbiased if sums are several batches old", "[unit]") {
  SimulatedShards simulated(Prioritized(), 3, 16, 4);
  constexpr int64_t kItems = 30;
  for (int64_t id = 0; id < kItems; ++id) {
    simulated.Insert(static_cast<size_t>(id % 3), id, 1);
  }
  simulated.OpenAll();
  Rng rng(3);
  double sum = 0;
  double squares = 0;
  constexpr int kBatches = 4000;
  for (int i = 0; i < kBatches; ++i) {
    const SimulatedShards::Batch batch = simulated.Take();
    double estimate = 0;  // An estimate of the number of items.
    for (const SimulatedShards::Item& item : batch.items) {
      estimate += 1 / (16 * item.probability);
      const double priority = 0.2 + 3 * rng.Uniform();
      simulated.table(item.shard)
          .UpdatePriorities(absl::MakeConstSpan(&item.key, 1), absl::MakeConstSpan(&item.generation, 1),
                            absl::MakeConstSpan(&priority, 1));
    }
    sum += estimate;
    squares += estimate * estimate;
  }
  const double mean = sum / kBatches;
  const double error = std::sqrt((squares / kBatches - mean * mean) / kBatches);
  REQUIRE(std::fabs(mean - kItems) < 4 * error);
  REQUIRE(error < 0.5);
}
TEST_CASE("the ratio is kept over all shards within its buffer, whatever their loads, and no writer is stuck",
          "[unit]") {
  const auto shards = GENERATE(int64_t{2}, 3, 5);
  // The first shard gets so many of 16 inserts; the others share the rest.
  const auto to_first = GENERATE(3, 10, 16);
  CAPTURE(shards, to_first);
  constexpr int64_t kBatch = 32;
  TableConfig config = Prioritized();
  config.max_items = 500;
  config.rate_limiter.samples_per_insert = 4;
  config.rate_limiter.min_items = 50;
  config.rate_limiter.error_buffer = static_cast<double>(shards) * (kBatch + 4) / 2;  // The least that is allowed.
  REQUIRE_OK(CheckShardedBatch(config, shards, kBatch));
  SimulatedShards simulated(config, shards, kBatch, 2);
  simulated.OpenAll();
  int64_t inserts = 0;
  int64_t batches = 0;
  int64_t id = 0;
  int waited = 0;
  std::vector<size_t> waiting;  // The shards of waiting inserts, each from one lane.
  for (int turn = 0; batches < 2000; ++turn) {
    const auto place = static_cast<size_t>(turn % 16 < to_first ? 0 : 1 + turn % (shards - 1));
    if (simulated.CanInsert(place)) {
      ++id;
      simulated.Insert(place, id, 1 + static_cast<double>(id % 3));
      ++inserts;
      waited = 0;
    } else {
      // The writer waits for this shard alone: samples must make room.
      REQUIRE(++waited < 100);
      simulated.Pass(absl::Milliseconds(20));
      --turn;
    }
    if (simulated.TryTake().has_value()) {
      ++batches;
      waited = 0;
    }
    int64_t sampled = 0;
    for (size_t i = 0; i < simulated.shards(); ++i) {
      sampled += simulated.table(i).items_sampled();
    }
    const double difference = static_cast<double>(inserts) * 4 - static_cast<double>(sampled);
    REQUIRE(difference <= config.rate_limiter.MaxDifference() + 1e-6);
    if (batches > 0) {
      REQUIRE(difference >= config.rate_limiter.MinDifference() - 4.0 * 50 - 1e-6);
    }
  }
}

TEST_CASE("the allowances of the limiters are used up evenly", "[unit]") {
  TableConfig config = Prioritized();
  config.rate_limiter.samples_per_insert = 1;
  config.rate_limiter.min_items = 2;
  config.rate_limiter.error_buffer = 400;
  SimulatedShards simulated(config, 2, 10);
  for (int64_t id = 0; id < 60; ++id) {
    simulated.Insert(0, id);
  }
  simulated.Insert(1, 100);
  simulated.OpenAll();
  for (int i = 0; i < 5; ++i) {
    simulated.Take();
  }
  // Each allows 200 samples more than it has inserts.
  REQUIRE(simulated.table(0).items_sampled() > 40);
  REQUIRE(simulated.table(1).items_sampled() < 10);
}

TEST_CASE("shards count equally if no ratio is kept", "[unit]") {
  SimulatedShards simulated(Prioritized(), 3, 10);
  for (size_t i = 0; i < 3; ++i) {
    simulated.Insert(i, 1, i == 0 ? 100 : 1);
  }
  simulated.OpenAll();
  for (int i = 0; i < 30; ++i) {
    simulated.Take();
  }
  for (size_t i = 0; i < 3; ++i) {
    REQUIRE(simulated.table(i).items_sampled() >= 100);
    REQUIRE(simulated.table(i).items_sampled() <= 106);
  }
}

TEST_CASE("a queue over shards gives every item once", "[unit]") {
  TableConfig config = SmallTable();
  MakeQueue(90, &config);
  SimulatedShards simulated(config, 3, 10, 2);
  simulated.OpenAll();
  std::map<int64_t, int> counts;
  int64_t id = 0;
  while (counts.size() < 1000) {
    for (int i = 0; i < 7; ++i) {
      const auto place = static_cast<size_t>(id % 10 < 8 ? 0 : id % 3);
      if (simulated.CanInsert(place)) {
        simulated.Insert(place, id);
        ++id;
      }
    }
    simulated.Pass(absl::Milliseconds(20));
    if (const std::optional<SimulatedShards::Batch> batch = simulated.TryTake(); batch.has_value()) {
      for (const SimulatedShards::Item& item : batch->items) {
        REQUIRE(++counts[item.id] == 1);
      }
    }
  }
  REQUIRE(simulated.table(0).items_removed() + simulated.table(1).items_removed() +
              simulated.table(2).items_removed() >=
          1000);
}

TEST_CASE("a batch without replacement has no item twice, whatever the shards' sizes", "[unit]") {
  TableConfig config = Prioritized();
  config.sampler.without_replacement = true;
  SimulatedShards simulated(config, 2, 12);
  for (int64_t id = 0; id < 3; ++id) {
    simulated.Insert(0, id, 1000);
  }
  for (int64_t id = 3; id < 15; ++id) {
    simulated.Insert(1, id, id == 3 ? 0 : 1);
  }
  simulated.OpenAll();
  for (int i = 0; i < 50; ++i) {
    std::set<int64_t> ids;
    for (const SimulatedShards::Item& item : simulated.Take().items) {
      REQUIRE(ids.insert(item.id).second);
    }
    REQUIRE(ids.count(0) + ids.count(1) + ids.count(2) == 3);
  }
}
namespace {

// Shards with so many items of priority 1 each, without limits.
std::vector<ShardStanding> Standing(const TableConfig& table, const std::vector<int64_t>& items) {
  std::vector<ShardStanding> shards;
  for (const int64_t each : items) {
    ShardStanding& shard = shards.emplace_back(table);
    shard.open = shard.known = true;
    shard.facts.items = each;
    shard.facts.priority_sum = static_cast<double>(each);
    shard.facts.samples_allowed = HUGE_VAL;
  }
  return shards;
}

}  // namespace

TEST_CASE("the share of a lost shard is planned from the shards with weight, or not at all", "[unit]") {
  TableConfig table = Prioritized();
  table.sampler.without_replacement = true;  // A batch has each item of a shard once.
  std::vector<ShardStanding> shards = Standing(table, {5, 5, 5, 5});
  shards[0].open = false;
  const std::vector<double> weights = {1, 1, 1, 0};
  const ShardStanding::Asked owed{1, 0, 10, 10, absl::Time()};
  Rng rng(1);
  const std::optional<DrawPlan> plan = PlanReplacement(shards, table, weights, 0, owed, &rng);
  REQUIRE(plan.has_value());
  REQUIRE(plan->weights == std::vector<double>{0, 1, 1, 0});
  REQUIRE(plan->items == std::vector<int64_t>{0, 5, 5, 0});
  REQUIRE(plan->counted[0] == 0);
  REQUIRE(plan->counted[1] + plan->counted[2] + plan->counted[3] == 10);
  shards[2].facts.items = 4;
  REQUIRE_FALSE(PlanReplacement(shards, table, weights, 0, owed, &rng).has_value());
}

TEST_CASE("a batch is planned only if the shards can give all of it", "[unit]") {
  TableConfig table = Prioritized();
  Rng rng(1);
  REQUIRE_FALSE(PlanBatch(Standing(table, {0, 0}), table, 1, 1, &rng).has_value());
  table.sampler.without_replacement = true;
  REQUIRE_FALSE(PlanBatch(Standing(table, {5, 4}), table, 10, 1, &rng).has_value());
  const std::optional<DrawPlan> plan = PlanBatch(Standing(table, {5, 5}), table, 10, 1, &rng);
  REQUIRE(plan.has_value());
  REQUIRE(plan->items == std::vector<int64_t>{5, 5});
  table.rate_limiter.samples_per_insert = 1;
  std::vector<ShardStanding> shards = Standing(table, {5, 5});
  shards[0].facts.samples_allowed = 3;
  shards[1].facts.samples_allowed = 6.5;
  REQUIRE_FALSE(PlanBatch(shards, table, 10, 1, &rng).has_value());
  REQUIRE(PlanBatch(shards, table, 9, 1, &rng)->counted == std::vector<int64_t>{3, 6});
}

}  // namespace waggle
