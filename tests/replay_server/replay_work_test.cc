#include "replay_server/replay_work.h"

#include <filesystem>
#include <memory>
#include <string>

#include "common/base/file.h"
#include "common/base/threads/thread.h"
#include "common/hub/hub_client.h"
#include "common/replay/replay_client.h"
#include "tests/support/eventually.h"
#include "tests/support/param_server.h"
#include "tests/support/replay_fixtures.h"

namespace waggle {
namespace {

using testing::Eventually;
using testing::ValueOf;

// A replay server, a hub of one run, and an order of that.
struct Fixture {
  explicit Fixture(testing::ParamServer* the_hub, const std::string& data_dir = "",
                   std::vector<FailedReturn> failed = {})
      : hub(the_hub) {
    hub->Start();
    ReplayServerOptions options;
    options.listen = "127.0.0.1:0";
    options.data_dir = data_dir;
    server = ValueOf(ReplayServer::Start(options, &metrics));
    work = std::make_unique<ReplayWork>(hub->address, server->address(), server.get(), stop, std::move(failed));
    order.experiment_id = "first-1";
    order.role = Role::kReplayServer;
    hub->Order(order.role, "replay-server-1-ab-7");
  }
  ~Fixture() { stop.RequestStop(); }

  void Begin() {
    thread = Thread("order", [this] { ended = work->Do(order, "replay-server-1-ab-7", stop); });
  }
  // Ten items into a table of the experiment.
  void Write(const std::string& experiment, Durability durability = Durability::kNone) const {
    const auto connection = ValueOf(NewGrpcReplayConnection({server->address()}, nullptr, experiment));
    TableConfig table = testing::SimpleTable("t");
    table.durability = durability;
    REQUIRE_OK(connection->CreateTable(table, StopToken()));
    const auto writer = ValueOf(connection->NewWriter(testing::SimpleWriter("w" + experiment, table)));
    REQUIRE_OK(writer->Append(testing::SimpleBlock(0, 10), StopToken()));
    REQUIRE_OK(writer->Flush(absl::Seconds(30)));
  }
  // The hub's view of the server; null before it has joined with its address.
  const WorkerView* Find(const HubOverview& overview) const {
    for (const WorkerView& worker : overview.workers) {
      if (worker.introduction.role == Role::kReplayServer && !worker.introduction.address.empty()) {
        return &worker;
      }
    }
    return nullptr;
  }

  testing::ParamServer* const hub;
  Metrics metrics;
  std::unique_ptr<ReplayServer> server;
  std::unique_ptr<ReplayWork> work;
  WorkOrder order;
  const StopToken stop;
  absl::Status ended = absl::UnknownError("goes on");
  Thread thread;
};

TEST_CASE("A replay server takes part in a run under its order's name, with the figures of its tables", "[grpc]") {
  testing::ParamServer hub;
  Fixture fixture(&hub);
  fixture.Write("second-2");
  fixture.Begin();
  Eventually("it has joined", [&] { return fixture.Find(hub.hub->Overview()) != nullptr; });
  const HubOverview overview = hub.hub->Overview();
  const WorkerView* const joined = fixture.Find(overview);
  CHECK(joined->introduction.worker_id == "replay-server-1-ab-7");
  CHECK(joined->introduction.address == fixture.server->address());
  CHECK(joined->index == 0);
  fixture.Write("first-1");
  Eventually("its figures are there", [&] {
    const HubOverview now = hub.hub->Overview();
    const WorkerView* const found = fixture.Find(now);
    const auto inserted = found->figures->counters.find("items_inserted");
    return inserted != found->figures->counters.end() && inserted->second == 10;
  });
  fixture.stop.RequestStop();
  fixture.thread.Join();
  CHECK(fixture.ended == absl::OkStatus());
}

TEST_CASE("Each heartbeat of a replay server has the figures of its moment, the last one too", "[grpc]") {
  testing::ParamServer hub;
  Fixture fixture(&hub);
  fixture.Begin();
  Eventually("it has been heard", [&] {
    const HubOverview now = hub.hub->Overview();
    const WorkerView* const found = fixture.Find(now);
    return found != nullptr && found->current;
  });
  fixture.Write("first-1");
  fixture.stop.RequestStop();
  fixture.thread.Join();
  const HubOverview left = hub.hub->Overview();
  CHECK(fixture.Find(left)->figures->counters.at("items_inserted") == 10);
}

TEST_CASE("A replay server stays with a run that is over until it is told to leave it", "[grpc]") {
  testing::ParamServer hub;
  Fixture fixture(&hub);
  fixture.Begin();
  const auto learner = ValueOf(JoinHub(hub.Order(Role::kLearner), fixture.stop));
  Eventually("it has joined", [&] { return fixture.Find(hub.hub->Overview()) != nullptr; });
  learner->ReportFailure(absl::InternalError("a test"));
  learner->Leave(absl::Seconds(30));
  Eventually("the run is over", [&] { return IsOver(hub.hub->Overview().run_state); });
  fixture.Write("first-1");
  Eventually("it goes on", [&] {
    const HubOverview now = hub.hub->Overview();
    const WorkerView* const found = fixture.Find(now);
    const auto items = found->figures->gauges.find("items");
    return items != found->figures->gauges.end() && items->second == 10;
  });
  fixture.stop.RequestStop();
  fixture.thread.Join();
  CHECK(fixture.ended == absl::OkStatus());
}

TEST_CASE("A replay server that the run's hub refuses gives the order up", "[grpc]") {
  testing::ParamServer hub;
  Fixture fixture(&hub);
  fixture.Begin();
  Eventually("it has joined", [&] { return fixture.Find(hub.hub->Overview()) != nullptr; });
  hub.hub->Dismiss("replay-server-1-ab-7", "it was silent");
  fixture.thread.Join();
  CHECK(fixture.ended.code() == absl::StatusCode::kAlreadyExists);
}

TEST_CASE("A replay server names the experiments whose tables it keeps, and drops them", "[grpc]") {
  testing::ParamServer hub;
  Fixture fixture(&hub);
  CHECK(fixture.work->Kept().empty());
  fixture.Write("first-1");
  fixture.Write("second-2");
  CHECK(fixture.work->Kept() == std::vector<std::string>{"first-1", "second-2"});
  fixture.work->Discard("first-1");
  CHECK(fixture.work->Kept() == std::vector<std::string>{"second-2"});
}

TEST_CASE("A replay server that must go back to a cut leaves, and starts again with its tables", "[grpc]") {
  const testing::TemporaryFolder folder;
  testing::ParamServer hub;
  hub.hub_options.restoration = Restoration{3, "token"};
  std::filesystem::create_directories(folder.File("cuts/first-1/3"));
  Fixture fixture(&hub, folder.path());
  fixture.Write("second-2", Durability::kLog);
  fixture.Begin();
  fixture.thread.Join();
  CHECK(fixture.ended == absl::OkStatus());
  CHECK(fixture.stop.StopRequested());
  const std::vector<CutReturn> cuts = fixture.work->returns();
  REQUIRE(cuts.size() == 1);
  CHECK(cuts.front().experiment == "first-1");
  CHECK(cuts.front().number == 3);
  CHECK(cuts.front().token == "token");
}

TEST_CASE("A replay server that cannot go back to a cut gives the order up with the reason", "[grpc]") {
  const testing::TemporaryFolder folder;
  testing::ParamServer hub;
  hub.hub_options.restoration = Restoration{3, "token"};
  SECTION("it has no folder") {
    Fixture fixture(&hub);
    fixture.Begin();
    fixture.thread.Join();
    CHECK(fixture.ended.code() == absl::StatusCode::kFailedPrecondition);
    CHECK(fixture.work->returns().empty());
  }
  SECTION("it does not have the cut") {
    Fixture fixture(&hub, folder.path());
    fixture.Begin();
    fixture.thread.Join();
    CHECK(fixture.ended.code() == absl::StatusCode::kNotFound);
    CHECK(fixture.work->returns().empty());
  }
  SECTION("another experiment has a table without durability, which a new start would empty") {
    std::filesystem::create_directories(folder.File("cuts/first-1/3"));
    Fixture fixture(&hub, folder.path());
    fixture.Write("second-2");
    fixture.Begin();
    fixture.thread.Join();
    CHECK(fixture.ended.code() == absl::StatusCode::kFailedPrecondition);
    CHECK_THAT(std::string(fixture.ended.message()), Catch::Contains("second-2"));
    CHECK(fixture.work->returns().empty());
  }
  SECTION("it has tried") {
    Fixture fixture(&hub, folder.path(),
                    {{{"first-1", 3, "token"}, absl::DataLossError("a file is damaged")},
                     {{"second-2", 1, "other"}, absl::DataLossError("another one is")}});
    fixture.Begin();
    fixture.thread.Join();
    CHECK(fixture.ended == absl::DataLossError("a file is damaged"));
    CHECK(fixture.work->returns().empty());
  }
}

TEST_CASE("A folder's name is made up once, and kept there", "[unit]") {
  const testing::TemporaryFolder folder;
  const testing::TemporaryFolder other;
  const std::string id = ValueOf(StorageId(folder.path()));
  CHECK_FALSE(id.empty());
  CHECK(ValueOf(StorageId(folder.path())) == id);
  CHECK(ValueOf(StorageId(other.path())) != id);
  REQUIRE_OK(WriteFileAtomically(other.File("storage_id"), "what is this?"));
  CHECK(StorageId(other.path()).status().code() == absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace waggle
