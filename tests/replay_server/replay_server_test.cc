#include "replay_server/replay_server.h"

#include <memory>

#include "common/clients/replay_client.h"
#include "tests/support/catch.h"
#include "tests/support/replay_fixtures.h"

namespace waggle {
namespace {

using testing::SimpleBlock;
using testing::SimpleSampler;
using testing::SimpleTable;
using testing::SimpleWriter;
using testing::ValueOf;

ReplayServerOptions Listening(const std::string& address) {
  ReplayServerOptions options;
  options.listen = address;
  return options;
}

TEST_CASE("A server counts what is inserted and sampled, and measures what it holds", "[grpc]") {
  Metrics metrics;
  const auto server = ValueOf(ReplayServer::Start(Listening("127.0.0.1:0"), &metrics));
  const auto connection = ValueOf(NewGrpcReplayConnection({server->address()}));
  const TableConfig table = SimpleTable("t");
  REQUIRE_OK(connection->CreateTable(table, StopToken()));
  const auto writer = ValueOf(connection->NewWriter(SimpleWriter("w", table)));
  REQUIRE_OK(writer->Append(SimpleBlock(0, 6), StopToken()));
  REQUIRE_OK(writer->Flush(absl::Seconds(30)));
  REQUIRE_OK(ValueOf(connection->NewSampler(SimpleSampler(table, 4)))->Next(StopToken()));
  server->UpdateGauges();
  const Metrics::Snapshot snapshot = metrics.TakeSnapshot();
  CHECK(snapshot.counters.at("items_inserted") == 6);
  CHECK(snapshot.counters.at("items_sampled") >= 4);
  CHECK(snapshot.gauges.at("items") == 6);
  CHECK(snapshot.gauges.at("bytes") > 0);
}

TEST_CASE("A second server on a taken port is refused", "[grpc]") {
  Metrics metrics;
  const auto server = ValueOf(ReplayServer::Start(Listening("127.0.0.1:0"), &metrics));
  REQUIRE_CODE(ReplayServer::Start(Listening(server->address()), &metrics), absl::StatusCode::kUnavailable);
  REQUIRE_CODE(ReplayServer::Start(Listening("nowhere"), &metrics), absl::StatusCode::kInvalidArgument);
}

TEST_CASE("Shutting down answers those who wait at once", "[grpc]") {
  Metrics metrics;
  const auto server = ValueOf(ReplayServer::Start(Listening("127.0.0.1:0"), &metrics));
  const auto connection = ValueOf(NewGrpcReplayConnection({server->address()}));
  const TableConfig table = SimpleTable("t");
  REQUIRE_OK(connection->CreateTable(table, StopToken()));
  const auto sampler = ValueOf(connection->NewSampler(SimpleSampler(table, 4)));
  server->Shutdown(absl::Seconds(30));
  server->Shutdown(absl::ZeroDuration());
  const StopToken stop;
  stop.RequestStop();
  REQUIRE_CODE(sampler->Next(stop), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace waggle
