// Several real replay servers as one buffer, some of which die or stand still.
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/base/deadline.h"
#include "common/base/threads/thread.h"
#include "common/replay/replay_link.h"
#include "common/replay/shards/shard_key.h"
#include "tests/common/replay/replay_server_fixture.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"
#include "tests/support/replay_fixtures.h"

namespace waggle {
namespace {

using testing::ServerFixture;
using testing::SimpleBlock;
using testing::ValueOf;

constexpr absl::Duration kLong = absl::Seconds(30);
constexpr int64_t kBatch = 24;

// Servers with a table, and everything that goes to them.
struct Fixture {
  explicit Fixture(size_t count) : servers(count) {
    for (const ServerFixture& server : servers) {
      addresses.push_back(server.address());
    }
    table.sampler.kind = SelectorKind::kPrioritized;
    table.sampler.priority_exponent = 1;
    // Where a server went is found in `addresses`.
    connection = ValueOf(NewGrpcReplayConnection(addresses, [this] {
      MutexLock lock(&mutex);
      return addresses;
    }));
    REQUIRE_OK(connection->CreateTable(table, StopToken()));
    writer = ValueOf(connection->NewWriter(testing::SimpleWriter("writer", table)));
    sampler = ValueOf(connection->NewSampler(testing::SimpleSampler(table, kBatch)));
    updater = ValueOf(connection->NewPriorityUpdater(table.name));
  }

  // An episode of four rows of stream 0: to each server in turn.
  void Append() {
    InsertBlock block = SimpleBlock(row, 4);
    block.chunks[0].begins = true;
    row += 4;
    REQUIRE_OK(writer->Append(std::move(block), StopToken()));
  }
  SampledBatch Next() { return ValueOf(sampler->Next(StopToken())); }
  // Batches until one comes from just these servers.
  void AwaitServers(const std::set<size_t>& wanted) {
    const Deadline deadline(kLong);
    while (ServersOf(Next()) != wanted) {
      REQUIRE(deadline.Left() > absl::ZeroDuration());
    }
  }
  static std::set<size_t> ServersOf(const SampledBatch& batch) {
    std::set<size_t> found;
    for (int64_t i = 0; i < kBatch; ++i) {
      found.insert(ShardOfKey(static_cast<const uint64_t*>(batch.Data(kItemKey))[i]));
    }
    return found;
  }

  Mutex mutex;
  std::vector<std::string> addresses;
  std::deque<ServerFixture> servers;
  TableConfig table = testing::SimpleTable("table");
  std::unique_ptr<ReplayConnection> connection;
  std::unique_ptr<ReplayWriter> writer;
  std::unique_ptr<ReplaySampler> sampler;
  std::unique_ptr<PriorityUpdater> updater;
  uint64_t row = 0;
};

TEST_CASE("priorities of items on several servers arrive, and are drawn by", "[grpc]") {
  Fixture fixture(3);
  for (int i = 0; i < 6; ++i) {
    fixture.Append();
  }
  REQUIRE_OK(fixture.writer->Flush(kLong));
  std::map<float, double> wanted;  // By the item's row.
  for (int row = 0; row < 24; ++row) {
    wanted[static_cast<float>(row)] = 1;
  }
  for (int round = 0; round < 5; ++round) {
    const SampledBatch batch = fixture.Next();
    std::vector<uint64_t> keys;
    std::vector<uint64_t> generations;
    std::vector<double> priorities;
    for (int64_t i = 0; i < kBatch; ++i) {
      const float row = static_cast<const float*>(batch.Data("reward"))[i];
      keys.push_back(static_cast<const uint64_t*>(batch.Data(kItemKey))[i]);
      generations.push_back(static_cast<const uint64_t*>(batch.Data(kItemGeneration))[i]);
      priorities.push_back(1 + row / 4);
      wanted[row] = priorities.back();
    }
    REQUIRE_OK(fixture.updater->Update(keys, generations, priorities));
  }
  REQUIRE_OK(fixture.updater->Flush(kLong));
  REQUIRE(fixture.updater->counts().applied == 5 * kBatch);
  double sum = 0;
  for (const auto& [row, priority] : wanted) {
    sum += priority;
  }
  for (int i = 0; i < 10; ++i) {  // Those that were under way, and those drawn by their sums.
    fixture.Next();
  }
  const SampledBatch batch = fixture.Next();
  REQUIRE(batch.priority_sum == Approx(sum));
  for (int64_t i = 0; i < kBatch; ++i) {
    const float row = static_cast<const float*>(batch.Data("reward"))[i];
    REQUIRE(static_cast<const double*>(batch.Data(kItemPriority))[i] == wanted[row]);
    REQUIRE(static_cast<const double*>(batch.Data(kItemProbability))[i] == Approx(wanted[row] / sum));
  }
}

TEST_CASE("a server that dies is done without, and takes part again at another address", "[grpc]") {
  Fixture fixture(2);
  for (int i = 0; i < 4; ++i) {
    fixture.Append();
  }
  fixture.AwaitServers({0, 1});
  REQUIRE(fixture.Next().missing_shards == 0);
  fixture.servers[1].Stop();
  fixture.AwaitServers({0});
  REQUIRE(fixture.Next().missing_shards == 1);
  REQUIRE(fixture.sampler->stats().missing_shards == 1);
  for (int i = 0; i < 20; ++i) {
    fixture.Append();
    fixture.Next();
  }
  fixture.servers.emplace_back();  // Another one in its place.
  {
    MutexLock lock(&fixture.mutex);
    fixture.addresses[1] = fixture.servers.back().address();
  }
  const Deadline deadline(kLong);
  while (Fixture::ServersOf(fixture.Next()).count(1) == 0) {
    fixture.Append();
    REQUIRE(deadline.Left() > absl::ZeroDuration());
  }
  REQUIRE(fixture.Next().missing_shards == 0);
  REQUIRE_OK(fixture.writer->Flush(kLong));
  // What the first one had acknowledged is gone with it; what it had not came to the other one.
  REQUIRE(fixture.writer->stats().items_inserted == fixture.row);
  REQUIRE_OK(fixture.updater->Update({ShardedKey(1, 0)}, {1}, {1}));
  REQUIRE_OK(fixture.updater->Flush(kLong));
}

TEST_CASE("why tells of a sampler that waits for servers to allow a batch", "[grpc]") {
  std::deque<ServerFixture> servers(2);
  const std::vector<std::string> addresses = {servers[0].address(), servers[1].address()};
  const auto connection = ValueOf(NewGrpcReplayConnection(addresses));
  TableConfig table = testing::SimpleTable("table");
  table.rate_limiter.min_items = 100;
  REQUIRE_OK(connection->CreateTable(table, StopToken()));
  ReplaySamplerOptions options = testing::SimpleSampler(table, kBatch);
  options.sampler_id = "learner";
  const auto sampler = ValueOf(connection->NewSampler(options));
  ReplayLink link(addresses[1]);
  v1::TableExplanation table_is;
  testing::Eventually("the wait is told", [&] {
    grpc::ClientContext context;
    v1::ExplainResponse response;
    REQUIRE(link.stub()->Explain(&context, v1::ExplainRequest(), &response).ok());
    table_is = response.tables(0);
    return table_is.verdict() == v1::TableExplanation::VERDICT_WAITING;
  });
  CHECK(table_is.cause() == "nobody_writes");
  REQUIRE(table_is.waits_size() == 1);
  CHECK(table_is.waits(0).who() == "learner");
  CHECK(table_is.waits(0).items() == kBatch / 2);
}

TEST_CASE("a batch with a draw of nothing is answered by a server", "[grpc]") {
  Fixture fixture(2);
  // All items on the first server: the second one is asked for nothing but its sums.
  REQUIRE_OK(fixture.writer->Append(SimpleBlock(0, 8), StopToken()));
  for (int i = 0; i < 10; ++i) {
    REQUIRE(Fixture::ServersOf(fixture.Next()).size() == 1);
  }
}

}  // namespace
}  // namespace waggle
