#include "common/clients/sharded_replay/sharded_draws.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>

#include "tests/common/clients/sharded_replay/simulated_shards.h"
#include "tests/support/chi_square.h"

namespace waggle {
namespace {

using testing::CheckChiSquare;
using testing::SimulatedShards;
using testing::SmallTable;

const absl::Duration kPatience = ShardedDrawsOptions().patience;

TableConfig Prioritized(bool independent = false) {
  TableConfig config = SmallTable();
  config.max_items = 10'000;
  config.sampler.independent_draws = independent;
  return config;
}

// Draws batches and compares how often each item came with its part of the sum, which its probability has to be too.
void CheckDistribution(SimulatedShards* shards, const std::map<int64_t, double>& weights, int batches,
                       double sum_of_all) {
  double sum = 0;
  for (const auto& [id, weight] : weights) {
    sum += weight;
  }
  std::map<int64_t, int64_t> counts;
  for (int i = 0; i < batches; ++i) {
    const SimulatedShards::Batch batch = shards->Take();
    for (const SimulatedShards::Item& item : batch.items) {
      const auto weight = weights.find(item.id);
      REQUIRE(weight != weights.end());
      REQUIRE(item.probability == Approx(weight->second / sum));
      REQUIRE(batch.facts.min_probability <= item.probability * 1.000001);
      ++counts[item.id];
    }
    REQUIRE(batch.facts.priority_sum == Approx(sum_of_all));
  }
  CheckChiSquare(counts, weights);
}

}  // namespace

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

TEST_CASE("where all priorities are 0 every item is as likely", "[unit]") {
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

TEST_CASE("importance weights are unbiased where sums are batches old", "[unit]") {
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
    double estimate = 0;  // Of the number of items.
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

TEST_CASE("what a shard owed when it died is drawn from the others, and it is missed until it is back", "[unit]") {
  const bool independent = GENERATE(false, true);
  SimulatedShards simulated(Prioritized(independent), 3, 64, 4);
  std::map<int64_t, double> all;
  std::map<int64_t, double> rest;
  for (int64_t id = 0; id < 60; ++id) {
    all[id] = static_cast<double>(1 + id % 5);
    simulated.Insert(static_cast<size_t>(id % 3), id, all[id]);
    if (id % 3 != 1) {
      rest[id] = all[id];
    }
  }
  simulated.OpenAll();
  CheckDistribution(&simulated, all, 200, 180);
  // It leaves four batches under way at once, time and again: their distribution is that of the rest.
  std::map<int64_t, int64_t> counts;
  double sum_of_rest = 0;
  for (const auto& [id, weight] : rest) {
    sum_of_rest += weight;
  }
  for (int i = 0; i < 200; ++i) {
    simulated.Pause(1, true);
    while (simulated.TryTake().has_value()) {
    }
    // It owes a part of each of four batches.
    simulated.Pause(1, false);
    simulated.Kill(1);
    for (int j = 0; j < 4; ++j) {
      const SimulatedShards::Batch batch = simulated.Take();
      REQUIRE(batch.facts.missing_shards == 1);
      for (const SimulatedShards::Item& item : batch.items) {
        REQUIRE(rest.count(item.id) == 1);
        REQUIRE(item.probability == Approx(rest[item.id] / sum_of_rest));
        ++counts[item.id];
      }
    }
    REQUIRE(simulated.draws().missing_shards() == 1);
    simulated.Open(1);
    for (int j = 0; j < 4; ++j) {
      simulated.Take();
    }
    REQUIRE(simulated.Take().facts.missing_shards == 0);
  }
  CheckChiSquare(counts, rest);
  CheckDistribution(&simulated, all, 200, 180);
}

TEST_CASE("a shard that gives no sign is left out after a while, and comes back by answering", "[unit]") {
  SimulatedShards simulated(Prioritized(), 2, 8);
  simulated.Insert(0, 1);
  simulated.Insert(1, 2);
  simulated.OpenAll();
  simulated.Take();
  simulated.Pause(1, true);
  simulated.TryTake();  // Was complete.
  simulated.Pass(kPatience - absl::Milliseconds(10));
  REQUIRE_FALSE(simulated.TryTake().has_value());
  simulated.Pass(absl::Milliseconds(20));
  for (int i = 0; i < 10; ++i) {
    const std::optional<SimulatedShards::Batch> batch = simulated.TryTake();  // Without any more delay.
    REQUIRE(batch.has_value());
    REQUIRE(batch->facts.missing_shards == 1);
    REQUIRE(batch->facts.shares == std::vector<double>{1, 0});
  }
  simulated.Pause(1, false);
  simulated.Answer();  // What it was asked long ago: not wanted any more.
  simulated.Take();
  REQUIRE(simulated.Take().facts.missing_shards == 0);
  REQUIRE(simulated.draws().missing_shards() == 0);
}

TEST_CASE("where all shards are silent none is left out", "[unit]") {
  SimulatedShards simulated(Prioritized(), 2, 8);
  simulated.Insert(0, 1);
  simulated.Insert(1, 2);
  simulated.OpenAll();
  simulated.Take();
  simulated.Take();
  simulated.Pause(0, true);
  simulated.Pause(1, true);
  simulated.TryTake();
  simulated.Pass(10 * kPatience);
  REQUIRE(simulated.draws().missing_shards() == 0);
  simulated.Pause(0, false);
  simulated.Pause(1, false);
  REQUIRE(simulated.Take().facts.missing_shards == 0);
}

TEST_CASE("no shard is asked for more at a time than its server takes, also after a loss", "[unit]") {
  SimulatedShards simulated(Prioritized(), 2, 8, 6, 6);
  for (int64_t id = 0; id < 20; ++id) {
    simulated.Insert(static_cast<size_t>(id % 2), id);
  }
  simulated.OpenAll();
  simulated.Take();
  simulated.Pause(0, true);
  simulated.Pause(1, true);
  while (simulated.TryTake().has_value()) {
  }
  simulated.Kill(0);  // What it owed is asked of the other one, which has not answered what it was asked.
  simulated.Answer();
  simulated.Pause(1, false);
  for (int i = 0; i < 20; ++i) {
    REQUIRE(simulated.Take().facts.shares[1] > 0);
  }
  REQUIRE(simulated.most_asked() == 6);
}

TEST_CASE("a shard whose answer is coming in pieces is not late", "[unit]") {
  SimulatedShards simulated(Prioritized(), 2, 8);
  simulated.Insert(0, 1);
  simulated.Insert(1, 2);
  simulated.OpenAll();
  simulated.Take();
  simulated.Pause(1, true);
  simulated.TryTake();
  for (int i = 0; i < 10; ++i) {
    simulated.Pass(kPatience / 2);
    simulated.draws().Heard(1, simulated.now());
  }
  REQUIRE(simulated.draws().missing_shards() == 0);
}

TEST_CASE("when all shards are lost, batches go on with the first that is back", "[unit]") {
  SimulatedShards simulated(Prioritized(), 2, 8, 3);
  simulated.Insert(0, 1);
  simulated.Insert(1, 2);
  simulated.OpenAll();
  simulated.Take();
  simulated.Pause(0, true);
  simulated.Pause(1, true);
  while (simulated.TryTake().has_value()) {
  }
  simulated.Kill(0);
  simulated.Kill(1);
  simulated.Pause(0, false);
  simulated.Pause(1, false);
  simulated.Pass(absl::Seconds(20));
  REQUIRE_FALSE(simulated.TryTake().has_value());
  REQUIRE(simulated.draws().missing_shards() == 2);
  simulated.Open(1);
  for (int i = 0; i < 6; ++i) {
    const SimulatedShards::Batch batch = simulated.Take();
    REQUIRE(batch.facts.missing_shards == 1);
    REQUIRE(batch.items.front().id == 2);
    REQUIRE(batch.items.front().probability == Approx(1));
  }
}

TEST_CASE("a server that lost its table is left out until it has enough items, and shows by the incarnation",
          "[unit]") {
  TableConfig config = Prioritized();
  config.rate_limiter.min_items = 10;
  SimulatedShards simulated(config, 2, 8);
  for (int64_t id = 0; id < 10; ++id) {
    simulated.Insert(static_cast<size_t>(id % 2), id);
  }
  simulated.OpenAll();
  simulated.Take();
  const uint64_t before = simulated.Take().facts.table_incarnation;
  REQUIRE(simulated.Take().facts.table_incarnation == before);
  simulated.Kill(1);
  simulated.Replace(1);
  simulated.Open(1);
  for (int64_t id = 0; id < 4; ++id) {
    simulated.Take();
    const SimulatedShards::Batch batch = simulated.Take();
    REQUIRE(batch.facts.missing_shards == 0);
    REQUIRE(batch.facts.shares[1] == 0);
    REQUIRE(batch.facts.table_incarnation != before);
    simulated.Insert(1, 100 + id);
  }
  simulated.Insert(1, 200);
  simulated.Take();
  simulated.Take();
  REQUIRE(simulated.Take().facts.shares[1] == Approx(0.5));
}

TEST_CASE("the first batch waits until the whole table has min_items", "[unit]") {
  TableConfig config = Prioritized();
  config.rate_limiter.min_items = 10;
  SimulatedShards simulated(config, 2, 4);
  simulated.OpenAll();
  for (int64_t id = 0; id < 9; ++id) {
    simulated.Insert(0, id);
    simulated.Pass(absl::Milliseconds(50));
    REQUIRE_FALSE(simulated.TryTake().has_value());
  }
  simulated.Insert(1, 9);
  REQUIRE(simulated.Take().facts.table_items == 10);
}

TEST_CASE("the first batch waits for shards that may be about to come, not for ever", "[unit]") {
  SimulatedShards simulated(Prioritized(), 3, 4);
  for (size_t i = 0; i < 3; ++i) {
    simulated.Insert(i, static_cast<int64_t>(i));
  }
  simulated.Pass(10 * kPatience);  // Nobody is there.
  REQUIRE(simulated.draws().missing_shards() == 0);
  simulated.Open(0);
  simulated.Pass(kPatience / 2);
  simulated.Open(1);
  REQUIRE_FALSE(simulated.TryTake().has_value());
  simulated.Pass(kPatience / 2 + absl::Milliseconds(1));
  const SimulatedShards::Batch batch = simulated.Take();
  REQUIRE(batch.facts.missing_shards == 1);
  REQUIRE(batch.facts.table_items == 2);
  simulated.Open(2);
  simulated.Take();
  simulated.Take();
  REQUIRE(simulated.Take().facts.missing_shards == 0);
}

TEST_CASE("where all shards are lost before the first batch it still waits for the whole table's min_items", "[unit]") {
  TableConfig config = Prioritized();
  config.rate_limiter.min_items = 10;
  SimulatedShards simulated(config, 2, 4);
  simulated.OpenAll();
  simulated.Pass(absl::Milliseconds(50));
  simulated.Kill(0);
  simulated.Kill(1);
  for (int64_t id = 0; id < 6; ++id) {
    simulated.Insert(0, id);
  }
  simulated.Pass(10 * kPatience);
  simulated.Open(0);  // With its own part of min_items.
  simulated.Pass(kPatience / 2);
  REQUIRE_FALSE(simulated.TryTake().has_value());
  simulated.Open(1);
  simulated.Pass(2 * kPatience);
  REQUIRE_FALSE(simulated.TryTake().has_value());
  for (int64_t id = 6; id < 10; ++id) {
    simulated.Insert(1, id);
  }
  REQUIRE(simulated.Take().facts.table_items == 10);
}

TEST_CASE("where all servers lost their tables batches wait for the whole table's min_items again", "[unit]") {
  TableConfig config = Prioritized();
  config.rate_limiter.min_items = 10;
  SimulatedShards simulated(config, 2, 4);
  for (int64_t id = 0; id < 10; ++id) {
    simulated.Insert(static_cast<size_t>(id % 2), id);
  }
  simulated.OpenAll();
  simulated.Take();
  for (const size_t shard : {size_t{0}, size_t{1}}) {
    simulated.Kill(shard);
    simulated.Replace(shard);
  }
  for (int64_t id = 0; id < 6; ++id) {
    simulated.Insert(0, 100 + id);
  }
  simulated.OpenAll();
  for (int i = 0; i < 3; ++i) {
    simulated.TryTake();  // Those that were complete.
  }
  simulated.Pass(2 * kPatience);
  REQUIRE_FALSE(simulated.TryTake().has_value());
  for (int64_t id = 6; id < 10; ++id) {
    simulated.Insert(1, 100 + id);
  }
  REQUIRE(simulated.Take().facts.table_items == 10);
}

TEST_CASE("the ratio is kept over all shards, within its buffer, whatever their loads, and nobody is stuck", "[unit]") {
  const auto shards = GENERATE(int64_t{2}, 3, 5);
  // How many of 16 inserts go to the first shard; the others share the rest.
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
  std::vector<size_t> waiting;  // Inserts that wait for room in their shard, of one lane each.
  for (int turn = 0; batches < 2000; ++turn) {
    const auto place = static_cast<size_t>(turn % 16 < to_first ? 0 : 1 + turn % (shards - 1));
    if (simulated.CanInsert(place)) {
      ++id;
      simulated.Insert(place, id, 1 + static_cast<double>(id % 3));
      ++inserts;
      waited = 0;
    } else {
      // Only this shard is ever written to from now on, until it has room: samples have to make it.
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

TEST_CASE("what the limiters have left is used up evenly", "[unit]") {
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
  // Both allow 200 more than they have inserts.
  REQUIRE(simulated.table(0).items_sampled() > 40);
  REQUIRE(simulated.table(1).items_sampled() < 10);
}

TEST_CASE("where no ratio is kept the shards count alike", "[unit]") {
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

TEST_CASE("what a shard says of its limits is taken within what the numbers can be", "[unit]") {
  const auto allowed = GENERATE(-HUGE_VAL, -1e300, std::nan(""), HUGE_VAL, 1e300);
  CAPTURE(allowed);
  TableConfig config = Prioritized();
  config.rate_limiter.samples_per_insert = 4;
  config.rate_limiter.error_buffer = 1000;
  ShardedDrawsOptions options;
  options.table = config;
  options.shards = {config};
  options.batch_size = 4;
  ShardedDraws draws(std::move(options));
  const absl::Time now = absl::UnixEpoch();
  draws.Opened(0, now);
  REQUIRE(draws.TakeAsks().size() == 1);
  REQUIRE(draws.Answered(0, {5, 5, 0.2, allowed, 1}, now).has_value());
  draws.Tick(now);
  const std::vector<ShardedDraws::Ask> asks = draws.TakeAsks();
  const bool begins =
      std::any_of(asks.begin(), asks.end(), [](const ShardedDraws::Ask& ask) { return ask.items == 4; });
  REQUIRE(begins == (allowed > 0));
}

TEST_CASE("an answer that nobody asked for is told", "[unit]") {
  SimulatedShards simulated(Prioritized(), 2, 4);
  REQUIRE_FALSE(simulated.draws().Answered(0, ShardFacts(), simulated.now()).has_value());
}

}  // namespace waggle
