#include "cli/replay/reconfigure.h"

#include "absl/strings/match.h"
#include "common/replay/table_config_convert.h"
#include "tests/cli/fake_services.h"
#include "tests/cli/sample_snapshot.h"
#include "tests/support/catch.h"
#include "tests/support/replay_fixtures.h"

namespace waggle {
namespace {

using testing::FakeServices;
using testing::SimpleTable;
using testing::ValueOf;

constexpr absl::Duration kTimeout = absl::Seconds(30);

// Adds a table with generation 3.
void AddTable(FakeServices* services, const std::string& name = "t") {
  v1::TableInfo* table = services->replay.tables.add_tables();
  *table->mutable_config() = ToProto(SimpleTable(name));
  table->set_config_generation(3);
  services->replay.reconfigured.add_differences("max_items: 100000 and 77");
  services->replay.reconfigured.set_items_removed(12);
}

ReplayServers Find(const std::vector<std::string>& addresses, const std::string& experiment = "") {
  return ValueOf(ReplayServers::Find({addresses, "", experiment}, kTimeout));
}

const TableChange kChange = {"t", {{"max_items", "77"}}, /*dry_run=*/false, ""};

TableChange DryRun() {
  TableChange change = kChange;
  change.dry_run = true;
  return change;
}

std::string ChangedText(const TableChange& change, ReplayServers* servers) {
  const ReconfigureOutcome outcome = Reconfigure(change, kTimeout, servers);
  REQUIRE_OK(outcome.status);
  return outcome.text;
}

TEST_CASE("All servers check a change before one makes it", "[grpc]") {
  FakeServices first;
  FakeServices second;
  AddTable(&first);
  AddTable(&second);
  ReplayServers servers = Find({first.address(), second.address()});
  const std::string text = ChangedText({"t", {{"max_items", "77"}}, /*dry_run=*/false, "bee@hive"}, &servers);
  const auto changed = [&servers](size_t i) {
    return absl::StrCat("t at ", servers.address(i), ": changed, generation 3 -> 4\n  max_items: 100000 -> 77\n",
                        "  12 items leave\n  lasts until ", servers.address(i),
                        " is restarted: a table of durability none is made anew then\n");
  };
  CHECK(text == absl::StrCat("each of the 2 servers that have the table gets these values for itself; an experiment's "
                             "limits are for all of them together\n",
                             changed(0), changed(1)));
  for (FakeServices* services : {&first, &second}) {
    REQUIRE(services->replay.reconfigure_requests.size() == 2);
    CHECK(services->replay.reconfigure_requests[0].dry_run());
    const v1::ReconfigureRequest& request = services->replay.reconfigure_requests[1];
    CHECK_FALSE(request.dry_run());
    CHECK(request.config_generation() == 3);
    CHECK(request.config().max_items() == 77);
    CHECK(request.requester() == "bee@hive");
  }
}

TEST_CASE("An experiment's table is changed by its full name, and shown with its plain one", "[grpc]") {
  FakeServices services;
  AddTable(&services);
  v1::TableInfo* const table = services.replay.tables.mutable_tables(0);
  *services.replay.tables.add_tables() = *table;  // Another table with the same plain name.
  services.replay.tables.mutable_tables(0)->mutable_config()->set_name("pole-x7k2q/t");
  services.replay.tables.mutable_tables(1)->mutable_config()->set_name("cart-99abc/t");
  ReplayServers servers = Find({services.address()}, "pole-x7k2q");
  const std::string text = ChangedText(kChange, &servers);
  CHECK(absl::StartsWith(text, absl::StrCat("t at ", services.address(), ": changed")));
  REQUIRE(services.replay.reconfigure_requests.size() == 2);
  CHECK(services.replay.reconfigure_requests[1].config().name() == "pole-x7k2q/t");
  TableChange unknown = kChange;
  unknown.table = "u";
  REQUIRE_CODE(Reconfigure(unknown, kTimeout, &servers).status, absl::StatusCode::kNotFound);
}

TEST_CASE("A dry run changes nothing", "[grpc]") {
  FakeServices services;
  AddTable(&services);
  ReplayServers servers = Find({services.address()});
  const std::string text = ChangedText(DryRun(), &servers);
  CHECK(absl::StrContains(text, "would change, generation 3 -> 4\n"));
  CHECK_FALSE(absl::StrContains(text, "for itself"));
  CHECK(absl::StrContains(text, "about 12 items leave"));
  REQUIRE(services.replay.reconfigure_requests.size() == 1);
  CHECK(services.replay.reconfigure_requests[0].dry_run());
  services.replay.reconfigured.clear_differences();
  CHECK(absl::StrContains(ChangedText({"t", {{"max_items", "100000"}}, true, ""}, &servers), ": nothing changes\n"));
}

TEST_CASE("A dry run shows how much the rate limiter will allow", "[grpc]") {
  FakeServices services;
  AddTable(&services);
  services.replay.reconfigured.set_samples_allowed(640);
  services.replay.reconfigured.set_inserts_allowed(10);
  ReplayServers servers = Find({services.address()});
  const TableChange change{"t",
                           {{"rate_limiter.samples_per_insert", "64"}, {"rate_limiter.error_buffer", "640"}},
                           /*dry_run=*/true,
                           ""};
  CHECK(absl::StrContains(ChangedText(change, &servers), "up to 640 samples"));
  CHECK(absl::StrContains(ChangedText(change, &servers), "up to 10 items"));
  services.replay.reconfigured.add_waits("inserts wait for 7 more samples");
  CHECK(absl::StrContains(ChangedText(change, &servers), "\n  inserts wait for 7 more samples\n"));
}

TEST_CASE("An error names the servers that changed before it", "[grpc]") {
  FakeServices first;
  FakeServices second;
  AddTable(&first);
  AddTable(&second);
  ReplayServers servers = Find({first.address(), second.address()});
  (servers.address(1) == first.address() ? first : second).replay.reconfigure_status = {grpc::StatusCode::ABORTED,
                                                                                        "changed"};
  const ReconfigureOutcome outcome = Reconfigure(kChange, kTimeout, &servers);
  REQUIRE_CODE(outcome.status, absl::StatusCode::kAborted);
  CHECK(absl::StrContains(outcome.status.message(), servers.address(1)));
  // The text has the result for each server.
  CHECK(absl::StrContains(outcome.text, absl::StrCat("t at ", servers.address(0), ": changed, generation 3 -> 4\n")));
  CHECK(absl::EndsWith(outcome.text, absl::StrCat("t at ", servers.address(1), ": NOT changed: changed\n")));
  ReplayServers away = Find({first.address(), "127.0.0.1:1"});
  const absl::Status refused = Reconfigure(kChange, kTimeout, &away).status;
  REQUIRE_CODE(refused, absl::StatusCode::kUnavailable);
  CHECK(absl::StrContains(refused.message(), "127.0.0.1:1"));
}

TEST_CASE("Servers after a failed one do not change, and the failed one's result may be unknown", "[grpc]") {
  FakeServices first;
  FakeServices second;
  AddTable(&first);
  AddTable(&second);
  first.replay.reconfigure_status = {grpc::StatusCode::UNAVAILABLE, "gone"};
  ReplayServers servers = Find({first.address(), second.address()});
  const ReconfigureOutcome outcome = Reconfigure(kChange, kTimeout, &servers);
  REQUIRE_CODE(outcome.status, absl::StatusCode::kUnavailable);
  CHECK(absl::EndsWith(
      outcome.text, absl::StrCat("t at ", first.address(), ": it is not known whether it was changed: ", "gone\nt at ",
                                 second.address(), ": NOT changed: not asked, because a server before it failed\n")));
  CHECK(second.replay.reconfigure_requests.size() == 1);
}

TEST_CASE("Nothing changes if a server of the run is missing, unless the others are named", "[grpc]") {
  FakeServices services;
  AddTable(&services);
  testing::AddWorker(v1::ROLE_REPLAY_SERVER, 0, &services.workers.overview)->set_address(services.address());
  v1::WorkerInfo* const gone = testing::AddWorker(v1::ROLE_REPLAY_SERVER, 1, &services.workers.overview);
  gone->set_address("10.0.0.3:7001");
  gone->set_alive(false);
  gone->set_silent_ms(93'000);
  ReplayServers servers = ValueOf(ReplayServers::Find({{}, services.address()}, kTimeout));
  const ReconfigureOutcome outcome = Reconfigure(kChange, kTimeout, &servers);
  REQUIRE_CODE(outcome.status, absl::StatusCode::kUnavailable);
  CHECK(outcome.text.empty());
  CHECK_THAT(std::string(outcome.status.message()),
             Catch::Contains("replay server 1, last at 10.0.0.3:7001, is missing") &&
                 Catch::EndsWith("--experiment pole-x7k2q --replay-server " + services.address()));
  CHECK(services.replay.reconfigure_requests.empty());
  gone->set_index(2);
  ReplayServers alone = ValueOf(ReplayServers::Find({{}, services.address()}, kTimeout));
  REQUIRE(alone.missing().size() == 2);
  ReplayServers named = Find({services.address()});
  ChangedText(kChange, &named);
}

TEST_CASE("A dry run shows the changes on present servers, though others are missing or away", "[grpc]") {
  FakeServices services;
  AddTable(&services, "pole-x7k2q/t");
  const TableChange change = DryRun();
  const std::string would = absl::StrCat("t at ", services.address(), ": would change, generation 3 -> 4\n");
  testing::AddWorker(v1::ROLE_REPLAY_SERVER, 1, &services.workers.overview)->set_address(services.address());
  ReplayServers run = ValueOf(ReplayServers::Find({{}, services.address()}, kTimeout));
  ReconfigureOutcome outcome = Reconfigure(change, kTimeout, &run);
  REQUIRE_CODE(outcome.status, absl::StatusCode::kUnavailable);
  CHECK(absl::StartsWith(outcome.text, "replay server 0 is missing: "));
  CHECK(absl::StrContains(outcome.text, absl::StrCat("for long\n", would)));
  // The creator of a run's table knows its configuration.
  CHECK(absl::EndsWith(outcome.text, " is made anew then, as the run's file has it\n"));

  ReplayServers away = Find({"127.0.0.1:1", services.address()}, "pole-x7k2q");
  outcome = Reconfigure(change, kTimeout, &away);
  REQUIRE_CODE(outcome.status, absl::StatusCode::kUnavailable);
  CHECK(absl::StartsWith(outcome.text, "the replay server at 127.0.0.1:1 does not answer: "));
  CHECK(absl::StrContains(outcome.text, absl::StrCat("\n", would)));
  // A server that was not asked may have the table.
  TableChange unknown = change;
  unknown.table = "u";
  outcome = Reconfigure(unknown, kTimeout, &away);
  REQUIRE_CODE(outcome.status, absl::StatusCode::kUnavailable);
  CHECK(absl::EndsWith(outcome.text, ": there is no such table, and nothing changes\n"));
  for (const v1::ReconfigureRequest& request : services.replay.reconfigure_requests) {
    CHECK(request.dry_run());
  }
}

TEST_CASE("The text names a server without the table, and how long a change lasts", "[grpc]") {
  FakeServices with;
  FakeServices without;
  AddTable(&with);
  ReplayServers servers = Find({without.address(), with.address()});
  v1::TableConfig* const config = with.replay.tables.mutable_tables(0)->mutable_config();
  config->set_durability(v1::DURABILITY_CHECKPOINT);
  const std::string text = ChangedText(kChange, &servers);
  CHECK(absl::StartsWith(text,
                         absl::StrCat("t at ", without.address(), ": there is no such table, and nothing changes\n")));
  CHECK(absl::EndsWith(text, absl::StrCat("  outlives ", with.address(), " from its next checkpoint on\n")));
  config->set_durability(v1::DURABILITY_LOG);
  CHECK(absl::EndsWith(ChangedText(kChange, &servers), "12 items leave\n"));
}

}  // namespace
}  // namespace waggle
