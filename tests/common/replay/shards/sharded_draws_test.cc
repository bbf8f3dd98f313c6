#include "common/replay/shards/sharded_draws.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>

#include "tests/common/replay/shards/drawn_items.h"

namespace waggle {
namespace {

using testing::CheckChiSquare;
using testing::CheckDistribution;
using testing::Prioritized;
using testing::SimulatedShards;

const absl::Duration kPatience = ShardedDrawsOptions().patience;

}  // namespace

TEST_CASE("the share of a lost shard is drawn from the others, and the shard is missing until it is back", "[unit]") {
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
  // Shard 1 is lost with four batches under way, again and again. Their distribution is that of the rest.
  std::map<int64_t, int64_t> counts;
  double sum_of_rest = 0;
  for (const auto& [id, weight] : rest) {
    sum_of_rest += weight;
  }
  for (int i = 0; i < 200; ++i) {
    simulated.Pause(1, true);
    while (simulated.TryTake().has_value()) {
    }
    // Shard 1 owes a part of each of four batches.
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

TEST_CASE("a silent shard is left out after its patience, and comes back with an answer", "[unit]") {
  SimulatedShards simulated(Prioritized(), 2, 8);
  simulated.Insert(0, 1);
  simulated.Insert(1, 2);
  simulated.OpenAll();
  simulated.Take();
  simulated.Pause(1, true);
  simulated.TryTake();  // This batch was complete.
  simulated.Pass(kPatience - absl::Milliseconds(10));
  REQUIRE_FALSE(simulated.TryTake().has_value());
  simulated.Pass(absl::Milliseconds(20));
  for (int i = 0; i < 10; ++i) {
    const std::optional<SimulatedShards::Batch> batch = simulated.TryTake();  // No further delay.
    REQUIRE(batch.has_value());
    REQUIRE(batch->facts.missing_shards == 1);
    REQUIRE(batch->facts.shares == std::vector<double>{1, 0});
  }
  simulated.Pause(1, false);
  simulated.Answer();  // Answers of old requests are dropped.
  simulated.Take();
  REQUIRE(simulated.Take().facts.missing_shards == 0);
  REQUIRE(simulated.draws().missing_shards() == 0);
}

TEST_CASE("no shard is left out if all are silent", "[unit]") {
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

TEST_CASE("no shard gets more open requests than its server takes, also after a loss", "[unit]") {
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
  simulated.Kill(0);  // Its share is requested from the other shard, which still has open requests.
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

TEST_CASE("after the loss of all shards, batches go on with the first that is back", "[unit]") {
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

TEST_CASE("the first batch waits for missing shards, but not for ever", "[unit]") {
  SimulatedShards simulated(Prioritized(), 3, 4);
  for (size_t i = 0; i < 3; ++i) {
    simulated.Insert(i, static_cast<int64_t>(i));
  }
  simulated.Pass(10 * kPatience);  // All shards are away.
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

TEST_CASE("the first batch waits for the whole table's min_items, also after the loss of all shards", "[unit]") {
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
  simulated.Open(0);  // This shard has its part of min_items.
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

TEST_CASE("batches wait for the whole table's min_items again after all servers lost their tables", "[unit]") {
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
    simulated.TryTake();  // These batches were complete.
  }
  simulated.Pass(2 * kPatience);
  REQUIRE_FALSE(simulated.TryTake().has_value());
  for (int64_t id = 6; id < 10; ++id) {
    simulated.Insert(1, 100 + id);
  }
  REQUIRE(simulated.Take().facts.table_items == 10);
}

TEST_CASE("a shard's reported limits are clamped to possible numbers", "[unit]") {
  const auto allowed = GENERATE(-HUGE_VAL, -1e300, std::nan(""), HUGE_VAL, 1e300);
  CAPTURE(allowed);
  TableConfig config = Prioritized();
  config.rate_limiter.samples_per_insert = 4;
  config.rate_limiter.error_buffer = 1000;
  ShardedDrawsOptions options;
  options.table = config;
  options.shards = {config, config};
  options.batch_size = 4;
  ShardedDraws draws(std::move(options));
  const absl::Time now = absl::UnixEpoch();
  draws.Opened(0, now);
  draws.Opened(1, now);
  REQUIRE(draws.TakeAsks().size() == 2);
  REQUIRE(draws.Answered(0, {5, 5, 0.2, allowed, 1}, now).has_value());
  REQUIRE(draws.Answered(1, {0, 0, 0, 0, 1}, now).has_value());
  const std::vector<ShardAsk> asks = draws.TakeAsks();
  const bool begins = std::any_of(asks.begin(), asks.end(), [](const ShardAsk& ask) { return ask.items == 4; });
  REQUIRE(begins == (allowed > 0));
}

TEST_CASE("with a prefetch of 0, a batch is drawn when it is wanted, from the items of that time", "[unit]") {
  const int64_t shards = GENERATE(1, 3);
  SimulatedShards simulated(Prioritized(), shards, 8, 0);
  simulated.Insert(0, 0);
  simulated.OpenAll();
  for (int64_t id = 1; id < 20; ++id) {
    simulated.Pass(absl::Milliseconds(50));
    REQUIRE_FALSE(simulated.TryTake().has_value());
    simulated.Insert(static_cast<size_t>(id % shards), id);
    simulated.draws().Want(simulated.now());
    const std::optional<SimulatedShards::Batch> batch = simulated.TryTake();
    REQUIRE(batch.has_value());
    REQUIRE(batch->facts.table_items == static_cast<uint64_t>(id + 1));
  }
}

TEST_CASE("a single lost shard is not missing, and its requests are repeated", "[unit]") {
  SimulatedShards simulated(Prioritized(), 1, 8, 4);
  simulated.Insert(0, 0);
  simulated.OpenAll();
  simulated.Take();
  simulated.Pause(0, true);
  while (simulated.TryTake().has_value()) {
  }
  simulated.Kill(0);
  simulated.Pause(0, false);
  simulated.Pass(10 * kPatience);
  REQUIRE(simulated.draws().missing_shards() == 0);
  simulated.Open(0);
  for (int i = 0; i < 10; ++i) {
    const SimulatedShards::Batch batch = simulated.Take();
    REQUIRE(batch.facts.missing_shards == 0);
    REQUIRE(batch.facts.shares == std::vector<double>{1});
  }
}

TEST_CASE("an answer without a request is reported", "[unit]") {
  SimulatedShards simulated(Prioritized(), 2, 4);
  REQUIRE_FALSE(simulated.draws().Answered(0, ShardFacts(), simulated.now()).has_value());
}

namespace {

// The batches of a lock-step run: inserts, batches and priority updates in turns.
std::vector<std::vector<double>> PlayInTurns(const TableConfig& table, std::optional<uint64_t> order) {
  SimulatedShards simulated(table, 3, 16, /*prefetch=*/0, kMaxOutstandingDraws, /*awaits_all=*/true);
  if (order.has_value()) {
    simulated.Shuffle(*order);
  }
  const size_t first = order.value_or(0) % 3;
  simulated.Open(first);
  simulated.Answer();
  std::vector<std::vector<double>> batches;
  Rng rng(7);
  int64_t id = 0;
  for (int turn = 0; turn < 60; ++turn) {
    for (int i = 0; i < (turn == 0 ? 48 : 8); ++i, ++id) {
      simulated.Insert(static_cast<size_t>(id / 2 % 3), id, static_cast<double>(1 + id % 5));
    }
    if (turn == 0) {
      simulated.draws().Want(simulated.now());
      simulated.Pass(2 * kPatience);
      REQUIRE_FALSE(simulated.TryTake().has_value());  // Two shards did not come yet.
      for (size_t i = 1; i < 3; ++i) {
        simulated.Open((first + i) % 3);
      }
    }
    const size_t silent = order.has_value() ? static_cast<size_t>(turn) % 3 : 0;
    if (order.has_value() && turn % 10 == 5) {
      simulated.Pause(silent, true);
      simulated.draws().Want(simulated.now());
      simulated.Pass(2 * kPatience);
      REQUIRE_FALSE(simulated.TryTake().has_value());
      simulated.Pause(silent, false);
    }
    simulated.draws().Want(simulated.now());
    std::vector<double> batch;
    for (const SimulatedShards::Item& item : simulated.Take().items) {
      batch.insert(batch.end(), {static_cast<double>(item.id), item.probability, item.priority});
      const auto priority = static_cast<double>(rng.UniformInt(9));
      simulated.table(item.shard).UpdatePriorities({&item.key, 1}, {&item.generation, 1}, {&priority, 1});
    }
    batches.push_back(std::move(batch));
  }
  return batches;
}

}  // namespace

TEST_CASE("batches that wait for all shards are the same however fast and in which order these answer", "[unit]") {
  TableConfig table = Prioritized(GENERATE(false, true));
  table.sampler.kind = GENERATE(SelectorKind::kPrioritized, SelectorKind::kUniform);
  table.sampler.without_replacement = GENERATE(false, true);
  if (!table.Validate().ok()) {
    return;
  }
  const std::vector<std::vector<double>> batches = PlayInTurns(table, std::nullopt);
  for (uint64_t order = 0; order < 20; ++order) {
    REQUIRE(PlayInTurns(table, order) == batches);
  }
}

TEST_CASE("a batch begins with the state of each shard at its request, not with an older answer", "[unit]") {
  const absl::Time now = absl::UnixEpoch() + absl::Hours(1);
  ShardedDrawsOptions options;
  options.table = Prioritized();
  options.batch_size = 8;
  options.prefetch = 0;
  options.awaits_all = true;
  for (int64_t i = 0; i < 2; ++i) {
    options.shards.push_back(testing::ValueOf(ShardConfig(options.table, i, 2)));
  }
  ShardedDraws draws(options);
  draws.Opened(0, now);
  draws.Opened(1, now);
  REQUIRE(draws.TakeAsks().size() == 2);
  draws.Want(now);
  REQUIRE(draws.TakeAsks().size() == 2);
  const ShardFacts before{4, 4, 0.25, 100, 1};
  const ShardFacts after{8, 24, 0.1, 100, 1};
  for (const size_t shard : {1, 0}) {
    draws.Answered(shard, before, now);
  }
  REQUIRE(draws.TakeAsks().empty());
  for (const size_t shard : {0, 1}) {
    draws.Answered(shard, after, now);
  }
  int64_t items = 0;
  for (const ShardAsk& ask : draws.TakeAsks()) {
    items += ask.items;
  }
  CHECK(items == 8);
}

}  // namespace waggle
