// The replay port over gRPC keeps the same contract as the one in process.
#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "tests/common/replay_client/replay_server_fixture.h"
#include "tests/support/catch.h"
#include "tests/support/replay_conformance.h"

namespace waggle {
namespace {

// A connection together with the servers that it goes to.
class ServedConnection final : public ReplayConnection {
 public:
  explicit ServedConnection(size_t servers) : servers_(servers) {
    std::vector<std::string> addresses;
    for (const testing::ServerFixture& server : servers_) {
      addresses.push_back(server.address());
    }
    connection_ = testing::ValueOf(NewGrpcReplayConnection(addresses));
  }

  absl::Status CreateTable(const TableConfig& config, const StopToken& stop) override {
    return connection_->CreateTable(config, stop);
  }
  absl::StatusOr<std::unique_ptr<ReplayWriter>> NewWriter(const ReplayWriterOptions& options) override {
    return connection_->NewWriter(options);
  }
  absl::StatusOr<std::unique_ptr<ReplaySampler>> NewSampler(const ReplaySamplerOptions& options) override {
    return connection_->NewSampler(options);
  }
  absl::StatusOr<std::unique_ptr<PriorityUpdater>> NewPriorityUpdater(const std::string& table) override {
    return connection_->NewPriorityUpdater(table);
  }

 private:
  std::deque<testing::ServerFixture> servers_;
  std::unique_ptr<ReplayConnection> connection_;
};

TEST_CASE("the replay port over gRPC keeps the port's contract", "[grpc]") {
  testing::CheckReplayConformance([] { return std::make_shared<ServedConnection>(1); }, 1);
}

TEST_CASE("over gRPC a sampler that asks for nothing ahead is given what there is when it asks", "[grpc]") {
  testing::CheckSamplerAsksInTime([] { return std::make_shared<ServedConnection>(1); });
}

TEST_CASE("the replay port over two replay servers keeps the port's contract", "[grpc]") {
  testing::CheckReplayConformance([] { return std::make_shared<ServedConnection>(2); }, 2);
}

TEST_CASE("the replay port over three replay servers keeps the port's contract", "[grpc]") {
  testing::CheckReplayConformance([] { return std::make_shared<ServedConnection>(3); }, 3);
}

TEST_CASE("views, selectors and compression are the same over gRPC", "[grpc]") {
  testing::CheckReplayViewConformance([] { return std::make_shared<ServedConnection>(1); });
}

TEST_CASE("views, selectors and compression are the same over two replay servers", "[grpc]") {
  testing::CheckReplayViewConformance([] { return std::make_shared<ServedConnection>(2); }, 2);
}

}  // namespace
}  // namespace waggle
