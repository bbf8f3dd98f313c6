// The replay port over gRPC keeps the same contract as the one in process.
#include <memory>
#include <utility>

#include "tests/common/clients/replay_server_fixture.h"
#include "tests/support/catch.h"
#include "tests/support/replay_conformance.h"

namespace waggle {
namespace {

// A connection together with the server that it goes to.
class ServedConnection final : public ReplayConnection {
 public:
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
  testing::ServerFixture server_;
  const std::unique_ptr<ReplayConnection> connection_ = server_.Connect();
};

TEST_CASE("the replay port over gRPC keeps the port's contract", "[grpc]") {
  testing::CheckReplayConformance([] { return std::make_shared<ServedConnection>(); });
}

}  // namespace
}  // namespace waggle
