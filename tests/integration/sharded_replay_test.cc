// Several replay servers as one buffer, some of which die or hold samples.
#include <cstddef>
#include <deque>
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

std::set<size_t> ServersOf(const SampledBatch& batch) {
  std::set<size_t> found;
  for (int64_t i = 0; i < kBatch; ++i) {
    found.insert(ShardOfKey(static_cast<const uint64_t*>(batch.Data(kItemKey))[i]));
  }
  return found;
}

TEST_CASE("sampling goes on without a server that dies, and with its successor at another address", "[grpc]") {
  std::deque<ServerFixture> servers(2);
  Mutex mutex;
  std::vector<std::string> addresses = {servers[0].address(), servers[1].address()};
  TableConfig table = testing::SimpleTable("table");
  table.sampler.kind = SelectorKind::kPrioritized;
  table.sampler.priority_exponent = 1;
  const auto connection = ValueOf(NewGrpcReplayConnection(addresses, [&] {
    MutexLock lock(&mutex);
    return addresses;
  }));
  REQUIRE_OK(connection->CreateTable(table, StopToken()));
  const auto writer = ValueOf(connection->NewWriter(testing::SimpleWriter("writer", table)));
  const auto sampler = ValueOf(connection->NewSampler(testing::SimpleSampler(table, kBatch)));
  const auto next = [&] { return ValueOf(sampler->Next(StopToken())); };
  // Episodes of four rows go to the servers in turn.
  uint64_t row = 0;
  const auto append = [&] {
    InsertBlock block = SimpleBlock(row, 4);
    block.chunks[0].begins = true;
    row += 4;
    REQUIRE_OK(writer->Append(std::move(block), StopToken()));
  };
  const auto await_servers = [&](const std::set<size_t>& wanted) {
    const Deadline deadline(kLong);
    while (ServersOf(next()) != wanted) {
      REQUIRE(deadline.Left() > absl::ZeroDuration());
    }
  };
  for (int i = 0; i < 4; ++i) {
    append();
  }
  await_servers({0, 1});
  REQUIRE(next().missing_shards == 0);
  servers[1].Stop();
  await_servers({0});
  REQUIRE(next().missing_shards == 1);
  REQUIRE(sampler->stats().missing_shards == 1);
  for (int i = 0; i < 20; ++i) {
    append();
    next();
  }
  servers.emplace_back();
  {
    MutexLock lock(&mutex);
    addresses[1] = servers.back().address();
  }
  const Deadline deadline(kLong);
  while (ServersOf(next()).count(1) == 0) {
    append();
    REQUIRE(deadline.Left() > absl::ZeroDuration());
  }
  REQUIRE(next().missing_shards == 0);
  REQUIRE_OK(writer->Flush(kLong));
  // Acknowledged items of the dead server are gone; all others came to its successor.
  REQUIRE(writer->stats().items_inserted == row);
  const auto updater = ValueOf(connection->NewPriorityUpdater(table.name));
  REQUIRE_OK(updater->Update({ShardedKey(1, 0)}, {1}, {1}));
  REQUIRE_OK(updater->Flush(kLong));
}

TEST_CASE("an explanation names a sampler that waits for servers to allow a batch", "[grpc]") {
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

}  // namespace
}  // namespace waggle
