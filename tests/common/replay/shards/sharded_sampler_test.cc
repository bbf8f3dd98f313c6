#include "common/replay/shards/sharded_sampler.h"

#include <algorithm>
#include <set>
#include <thread>

#include "common/base/deadline.h"
#include "common/replay/ports/sampler_options.h"
#include "common/replay/shards/shard_key.h"
#include "common/replay/shards/sharded_connection.h"
#include "tests/common/replay/shards/local_shards.h"
#include "tests/support/catch.h"
#include "tests/support/replay_fixtures.h"

namespace waggle {
namespace {

using testing::LocalShards;
using testing::SimpleBlock;
using testing::ValueOf;

constexpr absl::Duration kLong = absl::Seconds(30);
constexpr absl::Duration kPatience = absl::Milliseconds(200);

// `count` shards with 8 items each; item i of shard k has the reward 100 k + i.
struct Fixture {
  explicit Fixture(size_t count, int64_t batch_size = 32, int64_t prefetch = 2)
      : table(testing::SimpleTable("table")), shards(count), connection(shards.shards(), kPatience) {
    table.sampler.kind = SelectorKind::kPrioritized;
    REQUIRE_OK(connection.CreateTable(table, StopToken()));
    for (size_t i = 0; i < count; ++i) {
      Fill(i);
    }
    ReplaySamplerOptions options = testing::SimpleSampler(table, batch_size);
    options.prefetch = prefetch;
    sampler = ValueOf(connection.NewSampler(options));
  }

  void Fill(size_t shard) {
    const std::unique_ptr<ShardWriter> writer = ValueOf(
        shards.shards()[shard]->NewWriter(testing::SimpleWriter("fill" + std::to_string(++writers), table), [] {}));
    REQUIRE_OK(writer->Offer(SimpleBlock(shard * 100, 8)));
    const Deadline deadline(kLong);
    while (writer->state().blocks > 0 && deadline.Left() > absl::ZeroDuration()) {
      std::this_thread::yield();
    }
  }
  SampledBatch Next() { return ValueOf(sampler->Next(StopToken())); }

  TableConfig table;
  int writers = 0;
  LocalShards shards;
  ShardedReplayConnection connection;
  std::unique_ptr<ReplaySampler> sampler;
};

// The shards of a batch's items, by their keys, which must agree with the rewards.
std::set<size_t> ShardsOf(const SampledBatch& batch, int64_t items = 32) {
  std::set<size_t> shards;
  for (int64_t i = 0; i < items; ++i) {
    const float reward = static_cast<const float*>(batch.Data("reward"))[i];
    const size_t shard = ShardOfKey(static_cast<const uint64_t*>(batch.Data(kItemKey))[i]);
    REQUIRE(static_cast<size_t>(reward) / 100 == shard);
    shards.insert(shard);
  }
  return shards;
}

}  // namespace

TEST_CASE("a batch comes from all shards, with the facts of the whole table", "[unit]") {
  Fixture fixture(3);
  for (int i = 0; i < 20; ++i) {
    const SampledBatch batch = fixture.Next();
    REQUIRE(ShardsOf(batch) == std::set<size_t>{0, 1, 2});
    REQUIRE(batch.table_items == 24);
    REQUIRE(batch.priority_sum == 24);
    REQUIRE(batch.missing_shards == 0);
    for (int64_t row = 0; row < 32; ++row) {
      REQUIRE(static_cast<const double*>(batch.Data(kItemProbability))[row] == Approx(1.0 / 24));
    }
  }
  REQUIRE(fixture.sampler->stats().batches == 20);
  REQUIRE(fixture.sampler->stats().missing_shards == 0);
}

TEST_CASE("batches go on without a lost shard, and include it when it is back", "[unit]") {
  Fixture fixture(3);
  REQUIRE(ShardsOf(fixture.Next()).size() == 3);
  fixture.shards.Kill(1);
  while (ShardsOf(fixture.Next()).count(1) > 0) {  // Batches that shard 1 had completed or answered.
  }
  const SampledBatch batch = fixture.Next();
  REQUIRE(batch.missing_shards == 1);
  REQUIRE(batch.table_items == 16);
  REQUIRE(static_cast<const double*>(batch.Data(kItemProbability))[0] == Approx(1.0 / 16));
  REQUIRE(fixture.sampler->stats().missing_shards == 1);
  fixture.shards.Start(1);
  fixture.Fill(1);
  while (ShardsOf(fixture.Next()).size() < 3) {
  }
  REQUIRE(fixture.sampler->stats().missing_shards == 0);
}

TEST_CASE("a shard that hangs delays batches only for its patience", "[unit]") {
  Fixture fixture(2);
  fixture.Next();
  fixture.shards.Pause(1);
  while (fixture.Next().missing_shards == 0) {
  }
  for (int i = 0; i < 10; ++i) {
    REQUIRE(ShardsOf(fixture.Next()) == std::set<size_t>{0});
  }
  fixture.shards.Resume(1);
  while (fixture.Next().missing_shards > 0) {
  }
  while (ShardsOf(fixture.Next()).size() < 2) {
  }
}

TEST_CASE("the learner waits if all shards are lost, until one is back", "[unit]") {
  Fixture fixture(2);
  fixture.Next();
  fixture.shards.Kill(0);
  fixture.shards.Kill(1);
  const StopToken stop;
  absl::Status ended;
  {
    const Thread learner("learner", [&] {
      for (absl::StatusOr<SampledBatch> batch = fixture.sampler->Next(stop);; batch = fixture.sampler->Next(stop)) {
        if (!batch.ok()) {
          ended = batch.status();
          return;
        }
      }
    });
    const Deadline deadline(kLong);
    while (!fixture.sampler->stats().waiting && deadline.Left() > absl::ZeroDuration()) {
      std::this_thread::yield();
    }
    stop.RequestStop();
  }
  REQUIRE_CODE(ended, absl::StatusCode::kCancelled);
  fixture.shards.Start(1);
  fixture.Fill(1);
  REQUIRE(ShardsOf(fixture.Next()) == std::set<size_t>{1});
}

TEST_CASE("shards that come and go while a learner and an actor work lose no batch", "[unit]") {
  Fixture fixture(3, 16, 4);
  const StopToken stop;
  absl::Status written;
  {
    const Thread actor("actor", [&] {
      const std::unique_ptr<ReplayWriter> writer =
          *fixture.connection.NewWriter(testing::SimpleWriter("actor", fixture.table));
      for (uint64_t row = 0; !stop.StopRequested() && written.ok(); row += 4) {
        InsertBlock block = SimpleBlock(row, 4);
        block.chunks[0].begins = row % 16 == 0;
        written = writer->Append(std::move(block), stop);
      }
    });
    const Thread chaos("chaos", [&] {
      for (size_t i = 0; !stop.WaitFor(absl::Milliseconds(5)); ++i) {
        i % 2 == 0 ? fixture.shards.Kill(i / 2 % 3) : fixture.shards.Start(i / 2 % 3);
      }
    });
    for (int i = 0; i < 500; ++i) {
      const absl::StatusOr<SampledBatch> batch = fixture.sampler->Next(StopToken());
      CHECK(batch.status() == absl::OkStatus());
      double least = 1;
      for (int64_t row = 0; batch.ok() && row < 16; ++row) {
        least = std::min(least, static_cast<const double*>(batch->Data(kItemProbability))[row]);
      }
      CHECK(least > 0);
    }
    stop.RequestStop();
  }
  REQUIRE((written.ok() || absl::IsCancelled(written)));
}

TEST_CASE("options that can never work are refused", "[unit]") {
  Fixture fixture(2);
  ReplaySamplerOptions options = testing::SimpleSampler(fixture.table, 4);
  options.prefetch = -1;
  REQUIRE_CODE(fixture.connection.NewSampler(options), absl::StatusCode::kInvalidArgument);
  options = testing::SimpleSampler(fixture.table, 0);
  REQUIRE_CODE(fixture.connection.NewSampler(options), absl::StatusCode::kInvalidArgument);
  options = testing::SimpleSampler(fixture.table, 4);
  options.max_batch_bytes = 10;
  REQUIRE_CODE(fixture.connection.NewSampler(options), absl::StatusCode::kResourceExhausted);
  options.max_batch_bytes = 0;
  REQUIRE_CODE(fixture.connection.NewSampler(options), absl::StatusCode::kInvalidArgument);
  options = testing::SimpleSampler(fixture.table, 4);
  options.prefetch = kMaxOutstandingDraws + 1;
  REQUIRE_CODE(fixture.connection.NewSampler(options), absl::StatusCode::kInvalidArgument);
  options = testing::SimpleSampler(fixture.table, 4);
  options.sampler_id = "no name";
  REQUIRE_CODE(fixture.connection.NewSampler(options), absl::StatusCode::kInvalidArgument);
}

}  // namespace waggle
