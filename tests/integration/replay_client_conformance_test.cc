#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "tests/common/replay/replay_server_fixture.h"
#include "tests/support/catch.h"
#include "tests/support/conformance/replay_conformance.h"

namespace waggle {
namespace {

// A connection together with its servers.
testing::NewReplay ReplayOf(size_t count) {
  struct Served {
    explicit Served(size_t size) : servers(size) {}
    std::deque<testing::ServerFixture> servers;
    std::unique_ptr<ReplayConnection> connection;
  };
  return [count] {
    const auto served = std::make_shared<Served>(count);
    std::vector<std::string> addresses;
    for (const testing::ServerFixture& server : served->servers) {
      addresses.push_back(server.address());
    }
    served->connection = testing::ValueOf(NewGrpcReplayConnection(addresses));
    return std::shared_ptr<ReplayConnection>(served, served->connection.get());
  };
}

TEST_CASE("the replay port over gRPC keeps the port's contract", "[grpc]") {
  testing::CheckReplayConformance(ReplayOf(1), 1);
  testing::CheckReplayViewConformance(ReplayOf(1));
}

TEST_CASE("a sampler over gRPC without prefetching gets the items that exist when it asks", "[grpc]") {
  const size_t servers = GENERATE(size_t{1}, size_t{2});
  testing::CheckSamplerAsksInTime(ReplayOf(servers), static_cast<int64_t>(servers));
}

TEST_CASE("the replay port over two servers keeps the port's contract", "[grpc]") {
  testing::CheckReplayConformance(ReplayOf(2), 2);
  testing::CheckReplayViewConformance(ReplayOf(2), 2);
}

}  // namespace
}  // namespace waggle
