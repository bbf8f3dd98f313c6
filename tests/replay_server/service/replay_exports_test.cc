#include "replay_server/service/replay_exports.h"

#include <memory>
#include <string>

#include "common/base/threads/thread.h"
#include "common/replay/replay_client.h"
#include "replay_server/base/refusal_reasons.h"
#include "replay_server/service/replay_server.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"
#include "tests/support/replay_fixtures.h"

namespace waggle {
namespace {

using testing::SimpleSampler;
using testing::SimpleTable;
using testing::ValueOf;

std::string WaitsOf(const ReplayServer& server) {
  PrometheusText text;
  server.WriteWaits(&text);
  return text.Text();
}

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("A server tells for how long a sampler waits for items", "[grpc]") {
  Metrics metrics;
  ReplayServerOptions options;
  options.listen = "127.0.0.1:0";
  const auto server = ValueOf(ReplayServer::Start(options, &metrics));
  CHECK(Contains(WaitsOf(*server), "waggle_replay_longest_wait_seconds{side=\"sample\"} 0\n"));
  CHECK(Contains(WaitsOf(*server), "waggle_replay_tables 0\n"));
  const auto connection = ValueOf(NewGrpcReplayConnection({server->address()}));
  const TableConfig table = SimpleTable("t");
  REQUIRE_OK(connection->CreateTable(table, StopToken()));
  const auto sampler = ValueOf(connection->NewSampler(SimpleSampler(table, 4)));
  const StopToken stop;
  Thread waiting("waiting", [&] { CHECK(absl::IsCancelled(sampler->Next(stop).status())); });
  testing::Eventually("the sampler waits", [&] {
    return !Contains(WaitsOf(*server), "waggle_replay_longest_wait_seconds{side=\"sample\"} 0\n");
  });
  CHECK(Contains(WaitsOf(*server), "waggle_replay_longest_wait_seconds{side=\"insert\"} 0\n"));
  CHECK(Contains(WaitsOf(*server), "waggle_replay_tables 1\n"));
  stop.RequestStop();
}

TEST_CASE("A server without a folder tells of no checkpoint, and of no failure of its disk", "[grpc]") {
  Metrics metrics;
  ReplayServerOptions options;
  options.listen = "127.0.0.1:0";
  const auto server = ValueOf(ReplayServer::Start(options, &metrics));
  CHECK(!Contains(WaitsOf(*server), "waggle_replay_checkpoint_timestamp_seconds"));
  CHECK(Contains(WaitsOf(*server), "waggle_replay_disk_failing_seconds 0\n"));
  CHECK(Contains(WaitsOf(*server), "waggle_replay_checkpoint_failing 0\n"));
}

TEST_CASE("Refusals are exported by their reasons", "[unit]") {
  OrderFigures figures(ReplayFigures());
  Metrics metrics;
  const auto attached = figures.Attach(&metrics);
  metrics.Add("refused_" + std::string(reasons::kBadPriority), 2);
  PrometheusText text;
  figures.Write(&text);
  CHECK(Contains(text.Text(), "waggle_replay_refused_total{reason=\"bad_priority\"} 2\n"));
}

}  // namespace
}  // namespace waggle
