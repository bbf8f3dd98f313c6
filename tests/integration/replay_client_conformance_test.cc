// The replay port over gRPC keeps the same contract as the one in process.
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "tests/common/replay/replay_server_fixture.h"
#include "tests/support/catch.h"
#include "tests/support/conformance/replay_conformance.h"

namespace waggle {
namespace {

// A connection to fresh servers, which live as long as it does.
std::shared_ptr<ReplayConnection> Serve(int64_t count) {
  struct Served {
    std::deque<testing::ServerFixture> servers;
    std::unique_ptr<ReplayConnection> connection;
  };
  const auto served = std::make_shared<Served>();
  std::vector<std::string> addresses;
  for (int64_t i = 0; i < count; ++i) {
    addresses.push_back(served->servers.emplace_back().address());
  }
  served->connection = testing::ValueOf(NewGrpcReplayConnection(addresses));
  return {served, served->connection.get()};
}

TEST_CASE("the replay port over gRPC keeps the port's contract", "[grpc]") {
  testing::CheckReplayConformance([] { return Serve(1); }, 1);
}

TEST_CASE("the replay port over two replay servers keeps the port's contract", "[grpc]") {
  testing::CheckReplayConformance([] { return Serve(2); }, 2);
}

TEST_CASE("over gRPC a sampler that asks for nothing ahead is given what there is when it asks", "[grpc]") {
  const int64_t servers = GENERATE(1, 2);
  testing::CheckSamplerAsksInTime([servers] { return Serve(servers); }, servers);
}

TEST_CASE("views, selectors and compression are the same over gRPC", "[grpc]") {
  testing::CheckReplayViewConformance([] { return Serve(1); }, 1);
}

TEST_CASE("views, selectors and compression are the same over two replay servers", "[grpc]") {
  testing::CheckReplayViewConformance([] { return Serve(2); }, 2);
}

}  // namespace
}  // namespace waggle
