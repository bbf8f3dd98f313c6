#include "replay_server/service/experiment_figures.h"

#include "common/replay/replay_client.h"
#include "replay_server/service/replay_server.h"
#include "tests/support/catch.h"
#include "tests/support/replay_fixtures.h"

namespace waggle {
namespace {

using testing::SimpleBlock;
using testing::SimpleSampler;
using testing::SimpleTable;
using testing::SimpleWriter;
using testing::ValueOf;

// A server, and clients of two experiments whose tables have the same name.
struct Fixture {
  Fixture() {
    ReplayServerOptions options;
    options.listen = "127.0.0.1:0";
    server = ValueOf(ReplayServer::Start(options, &server_metrics));
  }

  std::unique_ptr<ReplayConnection> Connect(const std::string& experiment) const {
    auto connection = ValueOf(NewGrpcReplayConnection({server->address()}, nullptr, experiment));
    REQUIRE_OK(connection->CreateTable(table, StopToken()));
    return connection;
  }
  // Ten items from a writer of this name.
  void Write(ReplayConnection* connection, const std::string& writer) const {
    const auto to = ValueOf(connection->NewWriter(SimpleWriter(writer, table)));
    REQUIRE_OK(to->Append(SimpleBlock(0, 10), StopToken()));
    REQUIRE_OK(to->Flush(absl::Seconds(30)));
  }

  const TableConfig table = SimpleTable("t");
  Metrics server_metrics;
  std::unique_ptr<ReplayServer> server;
};

TEST_CASE("An experiment's figures count its own tables only, since ExperimentFigures was made", "[grpc]") {
  Fixture fixture;
  const auto first = fixture.Connect("first-1");
  const auto second = fixture.Connect("second-2");
  fixture.Write(first.get(), "a");
  Metrics metrics;
  ExperimentFigures figures(fixture.server->store(), "first-1", &metrics);
  figures.Update();
  CHECK(metrics.TakeSnapshot().counters.at("items_inserted") == 0);
  CHECK(metrics.TakeSnapshot().gauges.at("items") == 10);
  fixture.Write(first.get(), "b");
  fixture.Write(second.get(), "c");
  REQUIRE_OK(ValueOf(second->NewSampler(SimpleSampler(fixture.table, 4)))->Next(StopToken()));
  figures.Update();
  figures.Update();
  CHECK(metrics.TakeSnapshot().counters.at("items_inserted") == 10);
  CHECK(metrics.TakeSnapshot().counters.at("items_sampled") == 0);
  CHECK(metrics.TakeSnapshot().gauges.at("items") == 20);
  CHECK(metrics.TakeSnapshot().gauges.at("max_items") == fixture.table.max_items);
  CHECK(metrics.TakeSnapshot().gauges.at("writers") == 2);
  CHECK(metrics.TakeSnapshot().gauges.at("writer_bytes") > 0);
  REQUIRE_OK(ValueOf(first->NewSampler(SimpleSampler(fixture.table, 4)))->Next(StopToken()));
  figures.Update();
  CHECK(metrics.TakeSnapshot().counters.at("items_sampled") >= 4);
}

TEST_CASE("An experiment's counters go on if its table is created again", "[grpc]") {
  Fixture fixture;
  Metrics metrics;
  ExperimentFigures figures(fixture.server->store(), "first-1", &metrics);
  for (int64_t round = 1; round <= 2; ++round) {
    const auto connection = fixture.Connect("first-1");
    fixture.Write(connection.get(), "a");
    figures.Update();
    CHECK(metrics.TakeSnapshot().counters.at("items_inserted") == 10 * static_cast<double>(round));
    CHECK(metrics.TakeSnapshot().gauges.at("items") == 10);
    CHECK(fixture.server->store()->DropExperiment("first-1") == 1);
  }
}

}  // namespace
}  // namespace waggle
